"""One entry of a file is changed, and nothing else: laws of JSON with comments, and of TOML."""

from __future__ import annotations

import contextlib
import json
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience.cli.network.clients import jsonc, toml_tables

PATH = ("mcpServers", "salience")
ENTRY = {"command": "/bin/salience", "args": ["mcp", "--db", 'a "b".db'], "env": {"KEY": "ü"}}
GAPS = st.sampled_from(["", " ", "\n", "\n  ", " // note\n", "/* a: {} */", " /* \n */ ", "\r\n\t"])
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-9, 9_999), st.text('aé"\\/*{}[],: \n', max_size=6)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab{", max_size=2), inner, max_size=3)
    ),
    max_leaves=6,
)
SERVERS = st.dictionaries(st.sampled_from(["files", "git", 'a"b']), VALUES, max_size=3)
OTHERS = st.dictionaries(st.sampled_from("xyz"), VALUES)
FILES = st.builds(lambda rest, servers: {**rest, PATH[0]: servers}, OTHERS, SERVERS) | OTHERS


@st.composite
def commented(draw: st.DrawFn, values: st.SearchStrategy[Any] = FILES) -> tuple[Any, str]:
    """A value, and a text of it with comments, blanks and trailing commas."""

    def text(value: Any) -> str:
        if isinstance(value, dict):
            items = [
                f"{gap()}{json.dumps(k)}{gap()}:{gap()}{text(v)}{gap()}" for k, v in value.items()
            ]
            return f"{{{joined(items)}}}"
        if isinstance(value, list):
            return f"[{joined([f'{gap()}{text(each)}{gap()}' for each in value])}]"
        return json.dumps(value)

    def gap() -> str:
        return draw(GAPS)

    def joined(items: list[str]) -> str:
        trailing = "," + gap() if items and draw(st.sampled_from([True, False])) else ""
        return ",".join(items) + trailing if items else gap()

    value = draw(values)
    return value, f"{draw(st.sampled_from(['', chr(0xFEFF)]))}{gap()}{text(value)}{gap()}"


@given(commented())
def test_an_entry_is_set_and_all_else_stays(file: tuple[Any, str]) -> None:
    value, text = file
    assert jsonc.read(text) == value
    changed = jsonc.with_member(text, PATH, ENTRY)
    expected = {**value, PATH[0]: {**value.get(PATH[0], {}), PATH[1]: ENTRY}}
    assert jsonc.read(changed) == expected
    rest = iter(changed)
    assert all(character in rest for character in text)  # nothing of the text was lost
    assert jsonc.with_member(changed, PATH, ENTRY) == changed
    again = jsonc.with_member(changed, PATH, {"command": "x"})
    assert jsonc.read(again)[PATH[0]][PATH[1]] == {"command": "x"}


@given(commented(st.builds(lambda servers: {"a": 1, PATH[0]: servers}, SERVERS)))
def test_taking_an_entry_out_again_restores_the_text(file: tuple[Any, str]) -> None:
    value, text = file
    changed = jsonc.with_member(text, PATH, ENTRY)
    restored = jsonc.without_member(changed, PATH)
    assert jsonc.read(restored) == value
    if value[PATH[0]]:
        assert restored == text
    assert jsonc.without_member(text, PATH) == text


@given(commented(), st.integers(0, 400))
def test_a_damaged_text_is_refused_or_read_whole(file: tuple[Any, str], place: int) -> None:
    _, text = file
    damaged = text[:place]
    with contextlib.suppress(ValueError):
        jsonc.read(damaged)
        assert not damaged.strip("\ufeff \t\r\n") or jsonc.read(damaged) == jsonc.read(text)


@pytest.mark.parametrize("text", ["", "\n", "\ufeff", "{}", "{\n}\n", "{ // empty\n}"])
def test_an_empty_file_gets_the_entry(text: str) -> None:
    changed = jsonc.with_member(text, PATH, ENTRY)
    assert jsonc.read(changed) == {PATH[0]: {PATH[1]: ENTRY}}
    assert ("// empty" in text) == ("// empty" in changed)


def test_an_entry_looks_like_its_neighbours() -> None:
    text = '{\r\n\t"mcpServers": {\r\n\t\t"a": {} // first\r\n\t}\r\n}\r\n'
    changed = jsonc.with_member(text, PATH, {"command": "x"})
    assert changed == (
        '{\r\n\t"mcpServers": {\r\n\t\t"a": {}, // first\r\n'
        '\t\t"salience": {\r\n\t\t\t"command": "x"\r\n\t\t}\r\n\t}\r\n}\r\n'
    )


TABLES = (
    'model = "gpt" # big\n',
    "[mcp_servers.files]\nargs = [\n  '[mcp_servers.salience]',\n]\n",
    "# about\n[projects.'/a b']\nx = 1\n",
    '[[list]]\nt = """\n[x]\n"""\n',
    "\n",
    "[mcp_servers.salience-other]\ncommand = 'o'\n",
)
TOML_PATH = ("mcp_servers", "salience")


@given(st.lists(st.sampled_from(TABLES[1:]), unique=True), st.booleans(), st.booleans())
def test_a_table_is_set_and_all_else_stays(tables: list[str], top: bool, windows: bool) -> None:
    text = (TABLES[0] if top else "") + "".join(tables)
    text = text.replace("\n", "\r\n") if windows else text
    changed = toml_tables.with_table(text, TOML_PATH, ENTRY)
    values = tomllib.loads(text)
    values.setdefault("mcp_servers", {})["salience"] = ENTRY
    assert tomllib.loads(changed) == values
    assert changed.startswith(text)
    assert toml_tables.with_table(changed, TOML_PATH, ENTRY) == changed
    replaced = toml_tables.with_table(changed, TOML_PATH, {"command": "x"})
    assert tomllib.loads(replaced)["mcp_servers"]["salience"] == {"command": "x"}
    restored = toml_tables.without_table(changed, TOML_PATH)
    assert restored == text
    assert toml_tables.without_table(text, TOML_PATH) == text


def test_a_table_in_the_middle_is_replaced_in_its_place() -> None:
    table = "[mcp_servers.salience]\ncommand = 'old'\n[mcp_servers.salience.env]\nA = '1'\n"
    text = f"{table}\n# next\n[b]\nx = 1\n"
    changed = toml_tables.with_table(text, TOML_PATH, {"command": "new"})
    assert changed == '[mcp_servers.salience]\ncommand = "new"\n\n# next\n[b]\nx = 1\n'
    assert toml_tables.without_table(text, TOML_PATH) == "\n# next\n[b]\nx = 1\n"


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=5),
        st.text(max_size=8) | st.lists(st.text(max_size=5)),
        max_size=3,
    )
)
def test_any_text_can_stand_in_a_table(values: dict[str, Any]) -> None:
    changed = toml_tables.with_table("", TOML_PATH, values)
    assert tomllib.loads(changed).get("mcp_servers", {}).get("salience", {}) == values
