"""The help of every command, and completion in real shells."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer

from salience.cli.app import COMMANDS, EXAMPLES, PARAMETERS, app
from support.waiting import HANG_SECONDS

if TYPE_CHECKING:
    from cli.conftest import Run

COMMAND_NAMES = [name for group in COMMANDS.values() for name in group]


def test_the_help_lists_each_command_under_its_heading_in_a_whole_sentence(run: Run) -> None:
    lines = run("--help").out.splitlines()
    assert max(map(len, lines)) <= 80
    shown = " ".join(" ".join(lines).split())
    for heading, group in COMMANDS.items():
        assert f"{heading}:" in lines
        for name, (_, effect) in group.items():
            assert f"{name} {effect}" in shown


@pytest.mark.parametrize("name", COMMAND_NAMES)
def test_the_help_of_a_command_begins_with_its_line_in_the_list(run: Run, name: str) -> None:
    [effect] = [group[name][1] for group in COMMANDS.values() if name in group]
    help = " ".join(run(*name.split(), "--help").out.split())
    assert help.partition(" ")[0] == "Usage:"
    assert effect.rstrip(".") in help


def test_the_list_of_commands_imports_none_of_them() -> None:
    program = (
        "import sys; from salience.cli import main; main(['--help']);"
        "print(sorted({'numpy', 'salience.engine', 'rich'} & {*sys.modules}), file=sys.stderr)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=True,
    )
    assert ran.stderr == "[]\n"


def test_the_help_takes_the_width_of_the_terminal(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    lines = run("search", "--help").out.splitlines()
    assert 80 < max(map(len, lines)) <= 100


@pytest.mark.parametrize("name", COMMAND_NAMES)
def test_the_text_of_each_option_is_a_sentence_in_plain_words(name: str) -> None:
    command = typer.main.get_command(app)
    for word in name.split():
        command = command.commands[word]  # type: ignore[attr-defined]
    context = typer.Context(command, info_name=name)
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record is not None:
            text = record[1].partition("  [")[0].partition(" [")[0]
            assert text[:1].isupper(), record
            assert text.endswith("."), record
    help = command.get_help(context)
    assert "<int>" not in help
    assert "<str>" not in help
    assert "{" not in help.partition("Options")[0]


@pytest.mark.parametrize("name", [name for name in PARAMETERS if name])
def test_each_line_on_a_parameter_is_in_the_help_of_its_command(run: Run, name: str) -> None:
    help = " ".join(run(*name.split(), "--help").out.split())
    for typed, text in PARAMETERS[name].items():
        assert typed.split()[0].partition("/")[0].rstrip(",") in help
        assert text.rpartition("{}")[2] in help


def test_only_an_import_loads_the_formats() -> None:
    program = "import salience.cli.search, sys; print([n for n in sys.modules if 'importers' in n])"
    ran = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=True,
    )
    assert ran.stdout == "[]\n"


def _completed(shell: str, script: str, tmp_path: Path) -> str:
    """The output of a script in a shell where the command `salience` is on the path."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"there is no {shell} here")
    command = tmp_path / "bin" / "salience"
    command.parent.mkdir()
    code = "import sys; from salience.cli import main; sys.exit(main())"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{code}" "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    path = os.pathsep.join((str(command.parent), os.environ["PATH"]))
    ran = subprocess.run(
        [program, "-c", script],
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=True,
        env={**os.environ, "PATH": path, "HOME": str(tmp_path)},
    )
    return ran.stdout


@pytest.mark.deep
@pytest.mark.parametrize(
    ("words", "found"),
    [
        pytest.param("salience sea", "search", marks=pytest.mark.deep),
        pytest.param("salience search --pro", "--profile", marks=pytest.mark.deep),
        ("salience search --profile six", "six_factor"),
    ],
)
def test_bash_completes_commands_options_and_values(words: str, found: str, tmp_path: Path) -> None:
    count = len(words.split()) - 1
    script = (
        'eval "$(salience completion bash)"\n'
        f"COMP_WORDS=({words}); COMP_CWORD={count}; COMPREPLY=()\n"
        '_salience_completion salience; printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    assert _completed("bash", script, tmp_path).split() == [found]


def test_zsh_completes_values(tmp_path: Path) -> None:
    script = (
        "autoload -Uz compinit; compinit -u; "
        'eval "$(salience completion zsh)"; echo $_comps[salience]; '
        '_TYPER_COMPLETE_ARGS="salience feedback x use" _SALIENCE_COMPLETE=complete_zsh salience'
    )
    output = _completed("zsh", script, tmp_path)
    assert output.startswith("_salience_completion\n")
    assert '"useful"' in output


def test_fish_completes_options(tmp_path: Path) -> None:
    script = 'salience completion fish | source; complete -C "salience search --lim"'
    assert _completed("fish", script, tmp_path).startswith("--limit")


def test_without_arguments_it_fits_a_screen(run: Run) -> None:
    shown = run()
    assert shown.code == 0
    lines = shown.out.splitlines()
    assert len(lines) < 24
    assert max(map(len, lines)) <= 80
    assert "salience --help" in shown.out


@pytest.mark.parametrize("name", ["", *COMMAND_NAMES])
def test_no_word_is_broken_at_the_end_of_a_line(
    run: Run, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = []
    for columns in ("80", "400"):
        monkeypatch.setenv("COLUMNS", columns)
        shown.append(set(run(*name.split(), "--help").out.split()))
    assert shown[0] <= shown[1]


@pytest.mark.parametrize("name", COMMAND_NAMES)
def test_each_command_shows_examples_that_it_takes(run: Run, name: str) -> None:
    help = run(*name.split(), "--help").out
    assert EXAMPLES[name]
    for example in EXAMPLES[name]:
        assert f"\n  {example}\n" in help
        words = shlex.split(re.split(r" [<>]+ ", example.rpartition(" | ")[2])[0])
        command: Any = typer.main.get_command(app)
        assert words[: 1 + len(name.split())] == ["salience", *name.split()]
        arguments = words[1:]
        for part in name.split():
            command, arguments = command.commands[part], arguments[1:]
        command.make_context(name, arguments).close()  # refuses a wrong option or argument
