"""The documentation holds: blocks run and print what they say, links lead somewhere, nothing lacks.

`support.pages` says how blocks are run. Those of the pages of frameworks run beside their
framework, by `make integrations`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mcp.client.stdio  # noqa: F401  # now: it keeps the stderr that there is when it is imported
import pytest
import typer

from salience.ranking.profiles import BUILT_IN
from salience.records.fields import FIELDS
from support.pages import BLOCK, FRAMEWORK_PAGES, PAGES, ROOT, blocks, page, run_blocks

WIDTH = 120  # of the formulas shown


@pytest.mark.parametrize("name", [name for name in PAGES if name not in FRAMEWORK_PAGES])
def test_blocks_run_and_print_what_they_say(
    name: str, commands: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    programs = (str(commands), str(Path(sys.executable).parent), os.environ["PATH"])
    monkeypatch.setenv("PATH", os.pathsep.join(programs))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for variable in ("SALIENCE_DB", "SALIENCE_NAMESPACE", "COLUMNS"):
        monkeypatch.delenv(variable, raising=False)
    run_blocks(name)


@pytest.mark.parametrize("name", PAGES)
def test_every_block_says_its_language(name: str) -> None:
    for block in blocks(name):
        assert block.language in ("python", "bash", "typescript", "text", "json", "mermaid"), block
    assert len(re.findall(r"^```", page(name), re.MULTILINE)) == 2 * len(list(blocks(name)))


def prose(name: str) -> str:
    """A page without its blocks."""
    return BLOCK.sub("", page(name))


def anchors(name: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", prose(name), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(name)):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        file = (ROOT / name).parent / path if path else ROOT / name
        assert file.exists(), f"{name}: {target}"
        if anchor:
            there = file.resolve().relative_to(ROOT).as_posix()
            assert anchor in anchors(there), f"{name}: {target}"


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, waiting = set(), ["README.md"]
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        reached.add(name)
        for target in re.findall(r"\]\(([^)#:\s]+(?:\.md|/))[)#]", prose(name)):
            there = ((ROOT / name).parent / target).resolve()
            if there.is_relative_to(ROOT):  # a link to a folder leads to each page in it
                files = sorted(there.glob("*.md")) if there.is_dir() else [there]
                waiting += [file.relative_to(ROOT).as_posix() for file in files]
    assert reached == set(PAGES)


def test_the_page_names_every_command_and_no_other_and_only_options_that_there_are() -> None:
    from salience.cli.app import app

    commands = dict(_commands(typer.main.get_command(app)))
    text = page("docs/command-line.md")
    table = re.search(r"\n## Commands\n\n(.*?)\n\n", text, re.DOTALL)
    assert table is not None
    assert {*re.findall(r"`([a-z -]+)`", table[1])} == {*commands}
    options = {"--help", "--version"}
    for command in commands.values():
        options |= {o for param in command.params for o in (*param.opts, *param.secondary_opts)}
    assert {*re.findall(r"`(--[a-z-]+)", text)} <= options


def _commands(group: Any, family: str = "") -> Iterator[tuple[str, Any]]:
    """Every command with its name, of two words in a family."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            if command.invoke_without_command:
                yield name, command
            yield from _commands(command, f"{name} ")
        else:
            yield f"{family}{name}", command


def test_the_formulas_are_those_in_the_code() -> None:
    shown = {str(b.what): b.source for b in blocks("docs/profiles.md") if b.mark == "formula"}
    variants = {name for name in BUILT_IN if name.startswith("vitality.")}
    assert shown.keys() == BUILT_IN.keys() - variants
    for name, formula in shown.items():
        whole = f"{BUILT_IN[name].formula(WIDTH)}\n"
        assert formula == (
            whole if name != "balanced" else whole.partition("\n\nstanding")[0] + "\n"
        )
    assert all(f"`{name}`" in page("docs/profiles.md") for name in variants)


def test_every_field_that_filters_take_is_documented_with_its_type() -> None:
    kinds = {"text": "text", "number": "number", "time": "time", "list": "list"}
    rows = re.findall(
        r"^\| (text|number|time|list) \| ([^|]*) \|", page("docs/searching.md"), re.MULTILINE
    )
    said = {name: kind for kind, cell in rows for name in re.findall(r"`(\w+)`", cell)}
    taken = {name: kinds[f.type] for name, f in FIELDS.items() if f.type in kinds}
    assert said == taken
