"""Hooks as agents run them: a process each, and one daemon behind them."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from coding_agents.conftest import Answer, Home, claude_line, namespace_of
from salience import Memory
from salience.cli import main
from salience.coding_agents import handling
from salience.coding_agents.hook import request
from salience.coding_agents.project import OFF_FILE
from salience.errors import StoreError
from support.children import await_end
from support.real_server import RealServer, free_port
from support.waiting import until

pytestmark = pytest.mark.skipif(
    not hasattr(socket, "AF_UNIX"), reason="the daemon needs Unix sockets"
)
RULE = "From now on we pin every dependency in requirements.lock."
FOUND = "The root cause was a stale lockfile."


def remembered(home: Home, project: Path) -> dict[str, str]:
    """The texts of the memories of the project, by id."""
    with Memory.open(home.store, namespace=namespace_of(project)) as memory:
        return {record.id: record.content for record in memory.get_all()}


def transcript(home: Home, *lines: str) -> Path:
    path = home.path / f"{home.sessions}transcript.jsonl"
    path.write_text("".join(lines), "utf-8")
    return path


def test_half_a_character_costs_nothing_else(home: Home, project: Path) -> None:
    half = claude_line("user", RULE).replace("requirements", "\\ud83d requirements")
    path = transcript(home, half, claude_line("user", "From now on use tabs."))
    home.hook("stop", project, transcript_path=path)
    first, second = sorted(remembered(home, project).values(), key=len, reverse=True)
    assert first == RULE.replace("requirements", "\ufffd requirements")
    assert "use tabs" in second


def test_a_transcript_outside_the_folders_of_the_user_is_not_read(
    own_home: Home, project: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.jsonl"
    outside.write_text(claude_line("user", RULE))
    linked = tmp_path / "home" / "linked.jsonl"
    linked.symlink_to(outside)
    for path in (outside, linked):
        own_home.hook("stop", project, transcript_path=path)
    assert not remembered(own_home, project)
    own_home.variables["CLAUDE_CONFIG_DIR"] = str(tmp_path)
    own_home.hook("stop", project, transcript_path=outside)
    assert len(remembered(own_home, project)) == 1


def test_what_one_session_settles_the_next_is_told(home: Home, project: Path) -> None:
    first = home.hook("session-start", project, source="startup")
    assert (first.code, first.out, first.err) == (0, "", "")
    path = transcript(home, claude_line("user", RULE), claude_line("assistant", FOUND))
    stopped = home.hook("stop", project, transcript_path=path)
    assert (stopped.code, stopped.out, stopped.err) == (0, "", "")
    prompt = "how do we pin dependencies?"
    own = home.hook("prompt", project, prompt=prompt, transcript_path=path)
    assert own.out == ""  # it was said in this session

    start = home.hook("session-start", project, session_id="s2", source="startup")
    assert json.loads(start.out)["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    assert RULE in start.context
    told = home.hook("prompt", project, session_id="s3", prompt=prompt)
    assert json.loads(told.out)["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    assert RULE in told.context
    assert home.hook("prompt", project, session_id="s3", prompt=prompt).out == ""  # told already
    unrelated = home.hook("prompt", project, session_id="s3", prompt="what is the capital of Peru?")
    assert (unrelated.code, unrelated.out, unrelated.err) == (0, "", "")


def test_what_is_kept_says_where_it_comes_from(home: Home, project: Path) -> None:
    path = transcript(
        home,
        claude_line("user", "Fix the build."),
        claude_line("assistant", "Done."),
        claude_line("user", RULE),
    )
    home.hook("stop", project, transcript_path=path)
    with Memory.open(home.store, namespace=namespace_of(project)) as memory:
        (record,) = memory.get_all()
    assert (record.kind, record.speaker, record.session_id) == (
        "convention",
        "user",
        f"{home.sessions}s1",
    )
    assert record.created_at.isoformat() == "2026-11-02T09:30:00+00:00"
    metadata = dict(record.metadata)
    assert 0.5 < metadata.pop("probability") < 1
    assert metadata == {"source": "claude-code", "turn": 2, "transcript": str(path)}


def test_the_same_event_twice_stores_nothing_twice(home: Home, project: Path) -> None:
    path = transcript(home, claude_line("user", RULE))
    for event in ("stop", "pre-compact", "stop"):
        assert home.hook(event, project, transcript_path=path).code == 0
    for state in (home.path / ".local/state/salience/hooks/sessions").iterdir():
        state.unlink()  # even if it is forgotten how far the transcript was read
    home.hook("stop", project, transcript_path=path, session_id="s9")
    assert list(remembered(home, project).values()) == [RULE]


def test_what_is_settled_otherwise_takes_the_place_of_what_was(home: Home, project: Path) -> None:
    def said(day: int, text: str, role: str = "user") -> str:
        return claude_line(role, text, timestamp=f"2026-11-{day:02}T09:30:00.000Z")

    def standing() -> list[str]:
        with Memory.open(home.store, namespace=namespace_of(project)) as memory:
            return [record.content for record in memory.get_all({"status": "active"})]

    lines = [said(1, "From now on use tabs."), said(2, "We use spaces, not tabs.")]
    path = transcript(home, *lines)
    home.hook("stop", project, transcript_path=path)
    assert standing() == ["We use spaces, not tabs."]
    assert "From now on use tabs." not in home.hook("session-start", project, source="x").context

    lines.append(
        said(3, "I went with tabs instead of spaces because gofmt wants them.", "assistant")
    )
    home.hook("stop", project, transcript_path=transcript(home, *lines))
    assert "We use spaces, not tabs." in standing()

    path = transcript(home, *lines, said(4, "From now on use tabs."))
    for _ in range(2):
        home.hook("stop", project, transcript_path=path)
        assert standing()[0] == "From now on use tabs."
        assert "We use spaces, not tabs." not in standing()
        for state in (home.path / ".local/state/salience/hooks/sessions").iterdir():
            state.unlink()
    assert len(remembered(home, project)) == 3


def test_what_a_user_asks_to_forget_is_told_no_longer(home: Home, project: Path) -> None:
    home.hook("stop", project, transcript_path=transcript(home, claude_line("user", RULE)))
    assert RULE in home.hook("session-start", project, source="startup").context
    asked = "Please forget what I said about pinning every dependency."
    path = transcript(home, claude_line("user", RULE), claude_line("user", asked))
    home.hook("stop", project, transcript_path=path)
    assert RULE not in home.hook("session-start", project, source="clear").context
    with Memory.open(home.store, namespace=namespace_of(project)) as memory:
        statuses = {record.content: record.status for record in memory.get_all()}
        assert statuses == {RULE: "archived", asked: "archived"}
        events = memory.events(limit=100)
        [run] = {str(e.payload["run"]) for e in events if e.type == "archive"}
        memory.undo(run)
    assert RULE in home.hook("session-start", project, source="clear").context


def test_a_transcript_is_read_on_from_where_it_was_left(home: Home, project: Path) -> None:
    path = transcript(home, claude_line("user", RULE), claude_line("assistant", "I ran npm ci."))
    home.hook("stop", project, transcript_path=path)
    home.hook("stop", project, transcript_path=path)
    with Memory.open(home.store, namespace=namespace_of(project)) as memory:
        memory.delete_all(namespace=namespace_of(project))
    correction = claude_line("user", "No, use pnpm instead.")
    with path.open("a") as file:
        file.write(correction[:40])  # the agent is still writing
    home.hook("stop", project, transcript_path=path)
    assert remembered(home, project) == {}
    with path.open("a") as file:
        file.write(correction[40:])
    home.hook("stop", project, transcript_path=path)
    assert list(remembered(home, project).values()) == [
        "use pnpm instead. (Said after: I ran npm ci.)"
    ]


def test_without_a_transcript_the_events_themselves_are_read(home: Home, project: Path) -> None:
    home.hook("prompt", project, prompt=RULE)
    home.hook("stop", project, last_assistant_message="The root cause was a stale lockfile.")
    assert sorted(remembered(home, project).values()) == [
        RULE,
        "The root cause was a stale lockfile.",
    ]


def test_cursor_gets_its_own_form_and_brings_its_own_names(home: Home, project: Path) -> None:
    event = {"session_id": None, "cwd": None, "workspace_roots": [str(project)]}

    def prompt(session: str, text: str) -> Answer:
        values = {**event, "conversation_id": session, "prompt": text}
        return home.hook("prompt", home.path, "--agent", "cursor", **values)

    assert prompt("c1", RULE).out == ""
    other = {**event, "conversation_id": "c2"}
    start = home.command(
        "hook", "session-start", folder=home.path, text=json.dumps({**other, "cursor_version": "3"})
    )
    assert set(json.loads(start.out)) == {"additional_context"}
    assert RULE in start.context
    told = prompt("c3", "pin dependencies")
    assert json.loads(told.out)["continue"] is True
    assert RULE in told.context


def test_a_malformed_event_breaks_nothing(home: Home, project: Path) -> None:
    odd = '{"cwd": 7, "prompt": [], "transcript_path": {}}'
    for text in ("", "no json", "[1]", odd, '{"transcript_path": "/nowhere"}'):
        for event in ("session-start", "prompt", "pre-compact", "stop"):
            answer = home.command("hook", event, folder=project, text=text)
            assert (answer.code, answer.out) == (0, "")
            assert "Traceback" not in answer.err
            assert ("is not a JSON object" in answer.err) == (text in ("no json", "[1]"))


def test_a_store_that_cannot_be_opened_breaks_nothing(home: Home, project: Path) -> None:
    (home.path / "broken.db").write_bytes(b"this is no database" * 100)
    broken = replace(home, variables={"SALIENCE_DB": str(home.path / "broken.db")})
    answer = broken.hook("prompt", project, prompt=RULE)
    assert (answer.code, answer.out) == (0, "")
    assert answer.err.startswith("salience hook: prompt: StoreError")
    assert home.hook("prompt", project, prompt=RULE).err == ""  # another store is no worse for it


def test_no_daemon_in_time_breaks_nothing(own_home: Home, project: Path) -> None:
    hasty = replace(own_home, variables={"SALIENCE_HOOK_SECONDS": "0"})
    answer = hasty.hook("prompt", project, prompt=RULE)
    assert (answer.code, answer.out) == (0, "")
    assert answer.err.startswith("salience hook: ")
    assert own_home.hook("prompt", project, prompt=RULE).err == ""


@pytest.mark.parametrize("way", ["file", "variable"])
def test_a_project_can_be_left_out(own_home: Home, project: Path, way: str) -> None:
    if way == "file":
        (project / OFF_FILE).touch()
    else:
        own_home = replace(own_home, variables={"SALIENCE_HOOKS": "off"})
    path = transcript(own_home, claude_line("user", RULE))
    for event in ("session-start", "prompt", "stop"):
        answer = own_home.hook(event, project, transcript_path=path, prompt=RULE)
        assert (answer.code, answer.out, answer.err) == (0, "", "")
    assert not own_home.store.exists()
    assert bool(own_home.sockets) == (way == "file")
    shown = own_home.command("hook", "status", "--json", folder=project)
    assert json.loads(shown.out)["switched_off"] is True


def test_the_log_holds_no_text_of_a_memory_or_prompt(own_home: Home, project: Path) -> None:
    path = transcript(own_home, claude_line("user", RULE))
    own_home.hook("stop", project, transcript_path=path)
    own_home.hook("prompt", project, session_id="s2", prompt="how do we pin dependencies?")
    own_home.hook("prompt", project, session_id="bad", prompt="pin", transcript_path=path)
    own_home.command("hook", "prompt", folder=project, text='["pin every dependency"]')
    log = own_home.log.read_text("utf-8").lower()
    assert "kept=1" in log
    assert "told=1" in log
    assert "failed invalidinput" in log
    assert "pin" not in log.replace("pinned", "")
    assert "dependenc" not in log
    assert str(project).lower() not in log


def test_several_agents_at_once_start_one_daemon(own_home: Home, project: Path) -> None:
    def start(number: int) -> int:
        said = f"From now on every service of shop {number} has its own port."
        return own_home.hook("prompt", project, session_id=f"s{number}", prompt=said).code

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(start, range(4))) == [0] * 4
    daemon = own_home.daemon()
    assert daemon is not None
    assert daemon["answered"] >= 4
    assert len(own_home.sockets) == 1
    assert len(remembered(own_home, project)) == 4


def test_socket_and_folders_are_the_users_alone(own_home: Home, project: Path) -> None:
    (own_home.runtime / "salience").mkdir(mode=0o755)
    own_home.hook("session-start", project)
    (path,) = own_home.sockets
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for folder in (path.parent, own_home.log.parent, own_home.store.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_socket_that_a_killed_daemon_left_is_replaced(own_home: Home, project: Path) -> None:
    own_home.hook("session-start", project)
    daemon = own_home.daemon()
    assert daemon is not None
    os.kill(daemon["pid"], signal.SIGKILL)
    assert len(own_home.sockets) == 1
    until(lambda: own_home.daemon() is None)
    assert own_home.hook("prompt", project, prompt=RULE).err == ""
    second = own_home.daemon()
    assert second is not None
    assert second["pid"] != daemon["pid"]


def test_a_frozen_daemon_is_replaced(own_home: Home, project: Path) -> None:
    own_home.hook("session-start", project)
    daemon = own_home.daemon()
    assert daemon is not None
    os.kill(daemon["pid"], signal.SIGSTOP)
    assert own_home.hook("prompt", project, prompt=RULE).err == ""
    second = own_home.daemon()
    assert second is not None
    assert second["pid"] != daemon["pid"]
    assert list(remembered(own_home, project).values()) == [RULE]


def test_a_daemon_whose_threads_all_hang_is_replaced(own_home: Home, project: Path) -> None:
    program = (
        "from salience.coding_agents import daemon; daemon._HUNG_SECONDS = 0.5; "
        "daemon._REQUEST_SECONDS = 600.0; raise SystemExit(daemon.main())"
    )
    hanging = subprocess.Popen([sys.executable, "-c", program], env=own_home.environment)
    until(lambda: own_home.sockets)
    until(lambda: own_home.daemon() is not None)
    sockets = []
    try:
        for _ in range(4):  # requests that never end hold the threads
            sockets.append(socket.socket(socket.AF_UNIX))
            sockets[-1].connect(str(own_home.sockets[0]))
        assert own_home.hook("prompt", project, prompt=RULE).err == ""
        assert hanging.wait(60) == -signal.SIGKILL
    finally:
        for each in sockets:
            each.close()
        hanging.kill()
    second = own_home.daemon()
    assert second is not None
    assert second["pid"] != hanging.pid
    assert list(remembered(own_home, project).values()) == [RULE]


def test_an_idle_daemon_ends_and_the_next_hook_starts_another(
    own_home: Home, project: Path
) -> None:
    brief = replace(own_home, variables={"SALIENCE_HOOK_IDLE_SECONDS": "0"})
    assert brief.hook("session-start", project).err == ""
    until(lambda: not own_home.sockets)
    assert own_home.hook("prompt", project, prompt=RULE).err == ""
    assert list(remembered(own_home, project).values()) == [RULE]


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="/proc tells which processes there are")
@pytest.mark.parametrize("gone", ["socket", "state"])
def test_a_daemon_that_no_hook_finds_any_more_ends(
    own_home: Home, project: Path, gone: str
) -> None:
    assert own_home.hook("session-start", project).err == ""
    daemon = own_home.daemon()
    assert daemon is not None
    shutil.rmtree(own_home.runtime / "salience" if gone == "socket" else own_home.log.parent)
    await_end(daemon["pid"])


def test_a_running_server_is_the_store(own_home: Home, project: Path, tmp_path: Path) -> None:
    with RealServer(tmp_path / "server.db") as server:
        remote = replace(own_home, variables={"SALIENCE_DB": server.url})
        path = transcript(own_home, claude_line("user", RULE))
        assert remote.hook("stop", project, transcript_path=path).err == ""
        told = remote.hook("prompt", project, session_id="s2", prompt="how do we pin dependencies?")
        assert RULE in told.context
        with Memory.open(server.url, namespace=namespace_of(project)) as memory:
            assert [record.content for record in memory.get_all()] == [RULE]
    assert not own_home.store.exists()


def test_a_relative_store_is_one_of_the_folder_of_the_hook(home: Home, project: Path) -> None:
    local = replace(home, variables={"SALIENCE_DB": "notes.db"})
    local.hook("prompt", project, prompt=RULE)
    assert (project / "notes.db").exists()


def test_options_of_the_command_line_go_before_the_environment(home: Home, project: Path) -> None:
    db = home.path / "other.db"
    text = json.dumps({"session_id": "s1", "cwd": str(project), "prompt": RULE})
    arguments = ("hook", "prompt", "--db", str(db), "--namespace", "mine")
    assert home.command(*arguments, folder=project, text=text).code == 0
    with Memory.open(db, namespace="mine") as memory:
        assert [record.content for record in memory.get_all()] == [RULE]


def test_a_store_that_is_replaced_is_opened_anew(own_home: Home, project: Path) -> None:
    own_home.hook("prompt", project, prompt=RULE)
    own_home.command("hook", "stop-daemon", folder=project)
    for file in own_home.store.parent.iterdir():
        file.unlink()
    assert own_home.hook("prompt", project, session_id="s2", prompt=RULE).err == ""
    assert list(remembered(own_home, project).values()) == [RULE]


def test_a_hook_imports_little(home: Home, project: Path) -> None:
    home.hook("session-start", project)
    code = (
        "import sys; from salience.cli import main; code = main(['hook', 'prompt']);"
        "heavy = {'numpy', 'typer', 'rich', 'asyncio', 'subprocess', 'salience.engine'};"
        "print(sorted(heavy & set(sys.modules))); sys.exit(code)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        input="{}",
        cwd=project,
        env=home.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.splitlines()[-1] == "[]"


def test_without_unix_sockets_the_hook_does_the_work_itself(
    own_home: Home, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in own_home.environment.items():
        monkeypatch.setenv(name, value)
    text = json.dumps({"session_id": "s1", "cwd": str(project), "prompt": RULE})
    monkeypatch.chdir(project)
    monkeypatch.delattr(socket, "AF_UNIX")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert main(["hook", "prompt"]) == 0
    assert list(remembered(own_home, project).values()) == [RULE]
    assert not own_home.sockets


def test_an_unknown_event_is_refused_to_people() -> None:
    program = "import sys; from salience.cli import main; sys.exit(main(['hook', 'prompted']))"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 2


def test_a_server_that_is_away_costs_little_and_breaks_nothing(home: Home, project: Path) -> None:
    away = replace(home, variables={"SALIENCE_DB": f"http://127.0.0.1:{free_port()}"})
    answer = away.hook("prompt", project, prompt=RULE)
    assert (answer.code, answer.out) == (0, "")
    assert answer.err.startswith("salience hook: prompt: StoreError")


def test_the_model_searches_the_memories_of_the_project(home: Home, project: Path) -> None:
    pytest.importorskip("mcp", reason="this needs the package mcp")
    from support.mcp_client import connected, process

    home.hook("prompt", project, prompt=RULE)
    server = process("hook", "mcp", **home.environment).model_copy(update={"cwd": project})
    with connected(server) as client:
        found = client.call("search_memories", query="how do we pin dependencies?")
        client.call("add_memory", content="The lockfile is made by uv.")
    assert RULE in json.dumps(found)
    assert sorted(remembered(home, project).values()) == [RULE, "The lockfile is made by uv."]


def test_the_model_gets_no_memories_of_a_project_that_is_left_out(
    home: Home, project: Path
) -> None:
    (project / OFF_FILE).touch()
    answer = home.command("hook", "mcp", folder=project)
    assert (answer.code, answer.out) == (2, "")
    assert OFF_FILE in answer.err


def test_a_store_that_could_not_be_opened_is_tried_again_later(
    own_home: Home, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in own_home.environment.items():
        monkeypatch.setenv(name, value)
    opened: list[str] = []
    clock = [1_000.0]

    def refuse(url: str, *_: str) -> Memory:
        opened.append(url)
        raise StoreError("no server answers")

    monkeypatch.setattr(handling, "_open", refuse)
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    message = request("prompt", None, json.dumps({"cwd": str(project), "prompt": RULE}))
    with handling.Handler() as handler:
        for later, tries in ((0.0, 1), (5.0, 1), (10.0, 2)):
            clock[0] += later
            assert "no server answers" in handler.answer(message)["note"]
            assert len(opened) == tries
