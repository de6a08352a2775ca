"""The command completion: a script that lets a shell complete commands, options and values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum

from salience.cli import COMPLETION_VARIABLE, output
from salience.cli.settings import Settings


class Shell(StrEnum):
    """The shells that can complete commands."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


def completion(settings: Settings, shell: Shell) -> None:
    r"""Print a script that completes commands, options and their values in a shell.

    \b
    bash: eval "$(salience completion bash)"    in ~/.bashrc
    zsh:  eval "$(salience completion zsh)"     in ~/.zshrc, after compinit
    fish: salience completion fish > ~/.config/fish/completions/salience.fish
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    script = get_completion_script(
        prog_name="salience", complete_var=COMPLETION_VARIABLE, shell=shell.value
    )
    if settings.json:
        output.emit({"shell": shell.value, "script": script})
    else:
        print(script)


def complete() -> None:
    """Make the application answer the script of a shell instead of running a command."""
    from typer.completion import completion_init  # type: ignore[attr-defined]

    completion_init()


def one_of(values: Iterable[str]) -> Callable[[str], list[str]]:
    """A function that returns the values which begin with an incomplete word."""
    return lambda incomplete: [value for value in values if value.startswith(incomplete)]
