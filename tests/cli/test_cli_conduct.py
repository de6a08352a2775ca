"""The command line as a whole: shared options, errors, exit codes, streams, a real process."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import salience
from salience import Memory, cli
from salience.arithmetic import KERNELS
from salience.cli import output
from support.waiting import HANG_SECONDS, until

if TYPE_CHECKING:
    from cli.conftest import Run

COMMAND = (
    sys.executable,
    "-c",
    "import sys; from salience.cli import main; sys.exit(main())",
)


def test_shared_options_stand_before_or_after_the_command(run: Run) -> None:
    run("--db", "one.db", "--namespace", "n", "add", "Before.", "--id", "x")
    run("add", "After.", "--db", "two.db", "--namespace", "n", "--id", "x")
    for name, text in (("one.db", "Before."), ("two.db", "After.")):
        found = run("--json", "--db", name, "get", "x", "--namespace", "n").json
        assert found["content"] == text
        assert found["namespace"] == "n"
    assert run("--db", "one.db", "get", "x", "--namespace", "n", "--db", "two.db").out != ""


def test_the_nearer_option_wins_over_the_environment(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SALIENCE_DB", f"sqlite:///{tmp_path}/env.db")
    monkeypatch.setenv("SALIENCE_NAMESPACE", "env")
    run("add", "Here.", "--id", "x")
    assert (tmp_path / "env.db").exists()
    assert run("get", "x", "--json").json["namespace"] == "env"
    assert run("get", "x", "--namespace", "other").code == 1
    assert run("--db", "none.db", "get", "x").code == 3


def test_without_an_embedder_words_are_searched_and_the_lack_is_named(run: Run) -> None:
    added = run("add", "Rye bread.", "--embedder", "none", "--json")
    assert added.json["degraded"]
    assert "degraded: vector" in added.err
    found = run("search", "bread", "--embedder", "none", "--json")
    assert len(found.json["hits"]) == 1
    assert "degraded: vector" in found.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("search", "x", "--profile", "best"), 2, "there is no 'best'"),
        (("search", "x", "--profile", "none.json"), 2, "none.json cannot be read"),
        (("search", "x", "--filter", "{speaker"), 2, "filter: is not JSON"),
        (("search", "x", "--filter", "[1]"), 2, "filter: is not a JSON object"),
        (("search", "x", "--filter", '{"colour": 1}'), 2, "colour"),
        (("search", "x", "--option", 'weights={"colour": 1}'), 2, "options.weights.colour"),
        (("search", "x", "--now", "soon"), 2, "now: 'soon' is not a date"),
        (("search", "x", "--limit", "0"), 2, "limit: is 0"),
        (("search", "x", "--limit", "many"), 2, "--limit"),
        (("search", " "), 2, "query: is empty"),
        (("search", "x", "--embedder", "nobody"), 2, "unknown embedder 'nobody'"),
        (("search",), 2, "query"),
        (("frobnicate",), 2, "frobnicate"),
        (("get", "nobody"), 1, "there is no memory 'nobody'"),
        (("explain", "x", "nobody"), 1, "there is no memory 'nobody'"),
        (("list", "--cursor", "x"), 2, "cursor: is not one of a listing"),
        (("add", ""), 2, "content: is empty"),
        (("add", "x", "--importance", "7"), 2, "importance: is 7"),
        (("add", "x", "--metadata", "7"), 2, "metadata: is not a JSON object"),
        (("add", "x", "--links", '[{"type": "likes"}]'), 2, "there is no 'likes'"),
        (("add", "x", "--id", "river"), 2, "'river' is taken"),
        (("add", "bad \udcff"), 2, "lone surrogate"),
        (("import", "none.md"), 2, "none.md: does not exist"),
        (("import", "notes.jsonl", "--format", "xml"), 2, "there is no format 'xml'"),
        (("profiles", "show", "best"), 2, "there is no 'best'"),
        (("profiles", "show"), 2, "salience profiles show NAME"),
        (("eval", "none"), 2, "none: is not a folder"),
        (("eval", "."), 2, "holds no questions"),
        (("bench", "--memories", "0"), 2, "memories: is 0"),
        (("bench", "--memories", "9" * 24), 2, "from 1 to 1,000,000,000"),
        (("bench", "--queries", "9" * 24), 2, "from 1 to 1,000,000"),
        (("bench", "--clients", "9" * 24), 2, "--clients"),
        (("report", "--ahead", "4000000"), 2, "--ahead"),
        (("list", "--cursor", "W1tb" * 30_000), 2, "cursor: is not one of a listing"),
        (("migrate", "--db", "none.db"), 3, "none.db: there is no such file"),
        (("bench", "--memories", "2", "--namespaces", "3"), 2, "namespaces"),
        (("stats", "--db", "none.db"), 3, "none.db: there is no such file"),
        (("stats", "--db", "foreign.db"), 3, "another program"),
        (("stats", "--db", "notes.jsonl"), 3, "not a database"),
        (("add", "x", "--db", "no/folder/x.db"), 3, "there is no folder"),
        (("stats", "--db", "mysql://x"), 2, "is not the address of a store"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(
    notes: Run, tmp_path: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    with sqlite3.connect(tmp_path / "foreign.db") as foreign:
        foreign.execute("CREATE TABLE songs (title)")
    foreign.close()
    ran = notes(*arguments)
    assert ran.code == code
    assert said in ran.err
    assert ran.out == ""
    assert "Traceback" not in ran.err


def test_errors_of_ours_take_one_line(notes: Run) -> None:
    assert notes("search", "x", "--profile", "best").err.count("\n") == 1


def test_stdin_that_is_no_text_is_refused(run: Run) -> None:
    assert "not UTF-8" in run("add", "-", stdin=b"\xff\xfe\xfa").err


def test_version_and_help(run: Run) -> None:
    assert run("--version").out == (
        f"salience {salience.__version__}, searches are computed by {KERNELS}\n"
    )
    shown = run("--help").out
    for name in "add import search explain get list delete stats profiles eval bench demo".split():
        assert name in shown
        helped = run(name, "-h")
        assert helped.code == 0
        assert all(
            f"--{option}" in helped.out for option in ("db", "namespace", "embedder", "json")
        )


def test_a_real_process_keeps_stdout_pure(tmp_path: Path) -> None:
    def ran(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, *arguments],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=HANG_SECONDS,
        )

    added = ran("add", "Ana plays the piano.", "--embedder", "none", "--json")
    assert set(json.loads(added.stdout)) == {"id", "ids", "items", "degraded", "pending", "run"}
    found = ran("search", "piano", "--json")
    assert [hit["content"] for hit in json.loads(found.stdout)["hits"]] == ["Ana plays the piano."]
    failed = ran("search", "piano", "--json", "--profile", "best")
    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr.startswith("salience: profile:")


@pytest.mark.deep
def test_a_real_ascii_terminal_gets_escaped_json_and_text(tmp_path: Path) -> None:
    surroundings = {**os.environ, "PYTHONIOENCODING": "ascii"}
    with Memory.open(tmp_path / "memory.db", embedder=None) as memory:
        memory.add("Grüße", id="x")
    for option in ("--json", "--embedder=none"):
        ran = subprocess.run(
            [*COMMAND, "get", "x", option],
            capture_output=True,
            cwd=tmp_path,
            env=surroundings,
            timeout=HANG_SECONDS,
        )
        assert (ran.returncode, b"Traceback" in ran.stderr) == (0, False)
        assert ran.stdout.isascii()
        if option == "--json":
            assert json.loads(ran.stdout)["content"] == "Grüße"


@pytest.mark.parametrize(
    "command",
    [
        ("search", "Grüße"),
        ("list",),
        ("get", "x"),
        ("explain", "Grüße", "x"),
        ("history", "x"),
        ("context", "Grüße"),
        ("compare", "Grüße", "--profile", "balanced", "--profile", "composite"),
    ],
    ids=" ".join,
)
def test_ascii_terminals_get_what_they_can_show(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    run("add", "Grüße", "--id", "x", "--embedder", "none")
    shown = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(shown, "ascii"))
    ran = run(*command, "--embedder", "none")
    sys.stdout.flush()
    assert (ran.code, "Traceback" in ran.err) == (0, False)
    assert b"Gr" in shown.getvalue()
    assert shown.getvalue().isascii()


@pytest.mark.parametrize(
    ("closed", "arguments", "code"),
    [
        ("stdout", ("list",), 0),
        ("stdout", ("list", "--json"), 0),
        ("stdout", ("add", "Hello", "--id", "y"), 0),
        ("stdout stderr stdin", ("list",), 0),
        ("stdin", ("add", "-"), 2),
        ("stdin", ("delete", "--all"), 1),
    ],
)
def test_a_closed_stream_is_an_empty_one(
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    closed: str,
    arguments: tuple[str, ...],
    code: int,
) -> None:
    run("add", "Hello", "--id", "x", "--embedder", "none")
    with monkeypatch.context() as patch:
        for stream in closed.split():
            patch.setattr(sys, stream, None)
        ended = cli.main([*arguments, "--embedder", "none"])
        for stream in closed.split():
            getattr(sys, stream).close()
    assert ended == code


@pytest.mark.parametrize(
    ("command", "code"),
    [("add Hello --id y >&- 2>&- <&-", 0), pytest.param("add - <&-", 2, marks=pytest.mark.deep)],
)
def test_a_real_process_with_closed_streams_works(tmp_path: Path, command: str, code: int) -> None:
    shell = f'exec "$0" "$1" "$2" --embedder none {command}'
    ran = subprocess.run(
        ["sh", "-c", shell, *COMMAND], capture_output=True, cwd=tmp_path, timeout=HANG_SECONDS
    )
    assert (ran.returncode, b"Traceback" in ran.stderr) == (code, False)
    if code == 0:
        with Memory.open(tmp_path / "memory.db", embedder=None) as memory:
            assert memory.get("y") is not None


def test_an_answer_that_is_no_text_is_no_yes(run: Run) -> None:
    run("add", "Hello", "--id", "x")
    assert run("delete", "--all", stdin=b"\xff\n").code == 1
    assert run("get", "x").code == 0


def test_arguments_that_are_no_text_are_json_of_text(run: Run, tmp_path: Path) -> None:
    run("add", "An apple.")
    ran = run("context", "apple \udcff", "--json")
    assert (ran.code, "\udcff" in ran.out) == (0, False)
    file = tmp_path / "caf\udce9.jsonl"
    file.write_text('{"content": ""}', encoding="utf-8")
    ran = run("import", str(file), "--json")
    assert ran.json["rejected"][0]["path"].endswith("caf?.jsonl")


def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    process.wait(HANG_SECONDS)


def test_an_interrupt_ends_it_in_a_word(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("salience.cli.add._from_stdin", interrupted)
    ran = run("add", "-")
    assert (ran.code, ran.out, ran.err.strip()) == (130, "", "interrupted")


@pytest.mark.parametrize("columns", ["0", "5", "many", "-3", "9" * 5_000])
def test_a_width_of_no_use_is_none(
    notes: Run, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    shown = notes("search", "piano")
    assert shown.code == 0
    assert "tuned" in shown.out
    assert max(map(len, shown.out.splitlines())) <= 100


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("search", "piano"), 1),
        (("compare", "piano", "--profile", "balanced", "--profile", "composite"), 1),
        (("context", "piano"), 1),
        (("context", "piano", "--json"), 1),
        (("delete", "--filter", '{"kind": "fact"}', "--yes"), 1),
        (("list",), 0),
        (("list", "--filter", '{"kind": "fact"}'), 0),
        (("zones",), 0),
        (("stats",), 0),
        (("delete", "--all", "--yes"), 0),
    ],
)
def test_the_exit_code_where_there_is_nothing(
    run: Run, arguments: tuple[str, ...], code: int
) -> None:
    run("add", "x", "--id", "x", "--embedder", "none")
    run("delete", "x")
    ran = run(*arguments, "--embedder", "none")
    assert ran.code == code
    assert ("nothing found" in ran.err) == (code == 1 and arguments[0] != "delete")


def test_json_has_null_for_what_is_no_number(capsys: pytest.CaptureFixture[str]) -> None:
    output.emit({"a": [float("nan"), 1.5], "b": {"c": float("inf")}})
    assert json.loads(capsys.readouterr().out) == {"a": [None, 1.5], "b": {"c": None}}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("add", ""), 2),
        (("add", "x", "--importance", "7"), 2),
        (("add", "x", "--supersedes", "nobody"), 2),
        (("add", "x", "--embedder", "nobody"), 2),
        (("import", "bad.jsonl"), 1),
        (("import", "broken.jsonl"), 2),
        (("import", "empty.jsonl"), 1),
        (("search", "x"), 3),
        (("maintain",), 3),
    ],
)
def test_no_command_leaves_an_empty_database(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], code: int
) -> None:
    for name, text in (("bad", '{"content": ""}\n'), ("broken", "{"), ("empty", "")):
        (tmp_path / f"{name}.jsonl").write_text(text, encoding="utf-8")
    ran = run(*arguments)
    assert (ran.code, list(tmp_path.glob("*.db*"))) == (code, []), ran.err


def test_a_database_without_memories_that_was_there_stays(run: Run, tmp_path: Path) -> None:
    run("add", "x", "--id", "x")
    run("delete", "x")
    assert run("add", "").code == 2
    assert (tmp_path / "memory.db").exists()


def test_an_interrupted_import_says_what_was_done_so_far(tmp_path: Path) -> None:
    count = 60_000
    with (tmp_path / "many.jsonl").open("w", encoding="utf-8") as file:
        for number in range(count):
            file.write(json.dumps({"id": f"m{number}", "content": f"Number {number}."}) + "\n")
    # A shell's background process ignores interrupts, and so would what it starts.
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); " + COMMAND[2]
    process = subprocess.Popen(
        [*COMMAND[:2], code, "import", "many.jsonl", "--batch", "100", "--embedder", "none"],
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    log = tmp_path / "memory.db-wal"
    until(lambda: log.exists() and log.stat().st_size > 1_000_000)  # some batches are written
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 130
    reached = re.match(r"interrupted while importing many.jsonl, at ([\d,]+) of 60,000; ", said)
    assert reached, said
    done = int(reached[1].replace(",", ""))
    with Memory.open(tmp_path / "memory.db", embedder=None) as memory:
        assert done <= len(memory) <= done + 100


def test_lists_at_80_columns_break_no_word_and_at_120_use_the_width(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "The quarterly telemetry retention report of the greenhouse moves to a Tuesday morning."
    for number in range(3):
        run("add", text, "--id", f"2026-01-0{number}-telemetry-retention-report-{number}")
    commands = (
        ("search", "retention report"),
        ("list",),
        ("compare", "retention report", "--profile", "balanced", "--profile", "composite"),
        ("history", "2026-01-00-telemetry-retention-report-0"),
        ("audit",),
    )
    for command in commands:
        for columns in ("80", "120"):
            monkeypatch.setenv("COLUMNS", columns)
            shown = run(*command).out
            assert max(map(len, shown.splitlines())) <= int(columns)
            words = set(re.findall(r"[\w-]+", shown))
            assert "2026-01-00-telemetry-retention-report-0" in words or command[0] in (
                "history",
                "audit",
            )
            broken = {w for w in words if w.startswith("retent") and w != "retention"}
            assert not broken, shown
            if command[0] in ("search", "list") and columns == "120":
                assert text in shown


@pytest.mark.parametrize(
    "text", ["- milk\n- eggs", "-5 degrees at night", "--verbose is a flag", "-\tx"]
)
def test_a_text_may_begin_with_a_dash(run: Run, text: str) -> None:
    run("add", "--id", "x", text, "--title", text, "--tag", text, "--tag=- a b", "--kind=my note")
    kept = run("get", "x", "--json").json
    assert [kept[name] for name in ("content", "title", "kind")] == [text, text, "my note"]
    assert kept["tags"] == [text, "- a b"]
    assert "x" in run("search", text, "-n", "1", "--no-touch").out
    assert "No such option: -5" in run("add", "-5").err


def test_where_nothing_is_found_no_probability_is_told(run: Run) -> None:
    run("add", "Ben bakes bread.")
    found = run("search", "What does Ben bake?", "--kind", "fact")
    assert (found.code, found.err) == (1, "nothing found\n")
    swapped = run("search", "bread", "--since", "2027-01-01", "--until", "2026-01-01")
    assert swapped.err == "salience: until: is before since; give a later time, or swap them\n"


def test_an_interrupt_while_modules_are_imported_ends_it_in_a_word(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Importing:
        def __getattr__(self, name: str) -> None:
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "salience.cli.app", Importing())
    ran = run("list")
    assert (ran.code, ran.out, ran.err) == (130, "", "interrupted\n")


def test_history_names_the_fields_that_an_edit_changed(run: Run) -> None:
    run("add", "Tea at five.", "--id", "x")
    run("update", "x", "--set", "tags=home", "--set", "importance=0.5", "--metadata", '{"a": 1}')
    assert re.search(r"edit +2 +importance = 0.5; changed metadata, tags", run("history", "x").out)


def test_text_from_stdin_of_no_known_format_is_told_how_to_come_in(run: Run) -> None:
    told = run("import", "-", stdin=b"Tea at five.").err
    assert told.startswith('salience: stdin: is of no known format; name it, as format="text" (--')
    assert run("import", "-", "--format", "text", stdin=b"Tea at five.").code == 0
