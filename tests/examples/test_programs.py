"""The small programs of examples/, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from support.children import PROGRAM, end_child
from support.command_server import commands
from support.real_server import free_port

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run(
    *command: str | Path, programs: Path | None = None, folder: Path = EXAMPLES, typed: str = ""
) -> str:
    """What a process prints that finds `salience` in the folder of programs."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "PATH": f"{programs or commands()}{os.pathsep}{os.environ['PATH']}"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    try:
        printed, problems = process.communicate(typed, timeout=300)
    finally:
        end_child(process)
    assert process.returncode == 0, problems
    return printed


def test_the_chat_remembers_over_restarts_and_names_its_sources(tmp_path: Path) -> None:
    command = (commands() / "python-m", "chat_loop", "--db", str(tmp_path / "chat.db"))
    told = run(*command, typed="I moved to Lisbon in March.\n\nMy sister is called Rita.\n")
    assert told == "Noted.\nNoted.\n"
    first, source, *_ = run(*command, typed="Where do I live?\n").splitlines()
    assert first == "I remember this:"
    assert source.startswith("  user on ")
    assert source.endswith(": I moved to Lisbon in March.")


def test_the_notes_are_kept_in_step_and_say_why_they_answer(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    (notes / "home").mkdir(parents=True)
    (notes / "home" / "keys.md").write_text("# Keys\n\nThe cellar key hangs behind the door.\n")
    (notes / "lamp.md").write_text("The lamp is made of brass.\n")
    question = "Where is the cellar key?"
    command = (commands() / "python-m", "notes", notes, question, "--db", tmp_path / "notes.db")
    lines = run(*command).splitlines()
    assert lines[0] == "2 added, 0 rejected"
    assert lines[1] == question
    assert lines[2].startswith("  Keys (home/keys.md): ")
    assert "lexical" in lines[2]
    assert lines[3] == "    # Keys The cellar key hangs behind the door."

    (notes / "home" / "keys.md").rename(notes / "moved.md")
    (notes / "lamp.md").unlink()
    lines = run(*command).splitlines()
    assert "1 of them renamed" in lines[0]
    assert "1 deleted" in lines[0]
    assert lines[2].startswith("  Keys (moved.md): ")


def test_two_tenants_find_their_own_alone_and_one_forgets_a_user(tmp_path: Path) -> None:
    program = tmp_path / "salience"
    program.write_text(f"#!{sys.executable}\n{PROGRAM}\n")
    program.chmod(0o755)
    options = ("--db", tmp_path / "service.db", "--port", str(free_port()))
    printed = run(sys.executable, EXAMPLES / "two_tenants.py", *options, programs=tmp_path)
    acme, globex, receipt, left = printed.splitlines()
    assert acme == "acme finds ['The invoices go to Ana in Porto.']"
    assert globex == "globex finds ['The invoices go to Ben in Oslo.']"
    assert receipt.startswith("acme forgets 1 memories: The freed pages of the file ")
    assert left == "acme has 0 and globex has 1"
