"""Resources, prompts, the view of an explanation, and how long each may be kept."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from mcp_types import INVALID_PARAMS

from mcp import MCPError
from salience.mcp.app import APP_TYPE, EXPLANATION, explanation_page, id_of, uri_of
from support.mcp_client import Connection


@pytest.mark.parametrize("id", ["a", "a/b c", "ä#?%2F"])
def test_an_address_holds_any_id(id: str) -> None:
    assert id_of(uri_of(id)) == id


def test_memories_are_resources_page_by_page(tools: Connection) -> None:
    ids = {tools.call("add_memory", content=f"Note {n}.", force=True)["id"] for n in range(60)}
    uris, cursor = [], None
    while True:
        page = tools.await_("list_resources", cursor=cursor)
        uris += [each.uri for each in page.resources]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert uris[:2] == ["salience://profile", EXPLANATION]
    assert {id_of(uri) for uri in uris[2:]} == ids
    assert len(uris) == 62
    assert "Note" in tools.await_("read_resource", uris[2]).contents[0].text
    [template] = tools.await_("list_resource_templates").resource_templates
    assert template.uri_template == "salience://memory/{id}"


def test_the_profile_is_what_is_always_to_be_known(tools: Connection) -> None:
    tools.call("add_memory", content="The user is called Ana.", kind="profile")
    tools.call("add_memory", content="The disk ran full.")
    text = tools.await_("read_resource", "salience://profile").contents[0].text
    assert "Ana" in text
    assert "disk" not in text


@pytest.mark.parametrize(
    "uri", ["salience://memory/none", "salience://memory/", "file:///etc/passwd"]
)
def test_what_is_not_there_is_not_found(embedded: Connection, uri: str) -> None:
    with pytest.raises(MCPError) as error:
        embedded.await_("read_resource", uri)
    assert error.value.error.code == INVALID_PARAMS


def test_prompts_remember_and_recall(tools: Connection) -> None:
    tools.call("add_memory", content="Ben has a cello.")
    assert [each.name for each in tools.await_("list_prompts").prompts] == ["remember", "recall"]
    recalled = tools.await_("get_prompt", "recall", {"about": "cello"}).messages[0].content.text
    assert "Ben has a cello." in recalled
    remember = tools.await_("get_prompt", "remember", {"what": "the cello"}).messages[0].content
    assert "this: the cello" in remember.text
    with pytest.raises(MCPError, match="about: is missing"):
        tools.await_("get_prompt", "recall", {})
    with pytest.raises(MCPError, match="Unknown prompt"):
        tools.await_("get_prompt", "forget", {})


def test_answers_say_how_long_they_may_be_kept(embedded: Connection) -> None:
    id = embedded.call("add_memory", content="Ben has a cello.")["id"]
    tools = embedded.await_("list_tools")
    assert (tools.ttl_ms > 0, tools.cache_scope) == (True, "private")
    memory = embedded.await_("read_resource", uri_of(id))
    assert (memory.ttl_ms, memory.cache_scope) == (0, "private")
    view = embedded.await_("read_resource", EXPLANATION)
    assert (view.ttl_ms > 0, view.cache_scope) == (True, "public")


def test_an_explanation_has_a_view(embedded: Connection) -> None:
    assert "io.modelcontextprotocol/ui" in (embedded.client.server_capabilities.extensions or {})
    tools = {tool.name: tool for tool in embedded.await_("list_tools").tools}
    assert tools["explain_memory"].meta == {"ui": {"resourceUri": EXPLANATION}}
    [content] = embedded.await_("read_resource", EXPLANATION).contents
    assert content.mime_type == APP_TYPE
    assert content.text == explanation_page()
    assert "innerHTML" not in content.text
    assert "http" not in content.text.replace("http-equiv", "")


_BROWSER = """
const sent = [];
class Element {
  constructor(tag) { this.tag = tag; this.children = []; this.style = {}; this.className = ""; }
  append(...children) { this.children.push(...children); }
  replaceChildren(...children) { this.children = children; }
  get text() { return this.children.map((c) => (c instanceof Element ? c.text : c)).join(" "); }
}
const page = new Element("main");
const listeners = [];
const parent = { postMessage: (message) => sent.push(message) };
globalThis.window = { parent, addEventListener: (_, listener) => listeners.push(listener) };
globalThis.document = {
  getElementById: () => page,
  createElement: (tag) => new Element(tag),
  documentElement: {},
  body: {},
};
globalThis.ResizeObserver = class { observe() {} };
"""
_HOST = """
const tell = (data, source = parent) => listeners.forEach((each) => each({ data, source }));
tell({ jsonrpc: "2.0", id: sent[0].id, result: { protocolVersion: "2026-01-26" } });
tell({ jsonrpc: "2.0", method: "ui/notifications/tool-result", params: RESULT }, {});
const foreign = page.text;
tell({ jsonrpc: "2.0", method: "ui/notifications/tool-result", params: RESULT });
tell({ jsonrpc: "2.0", id: 9, method: "ui/resource-teardown", params: {} });
console.log(JSON.stringify({ sent, foreign, text: page.text }));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node here")
def test_the_view_shows_what_its_program_hands_it(embedded: Connection, tmp_path: Path) -> None:
    id = embedded.call("add_memory", content="Ben has a <b>cello</b>.")["id"]
    result = embedded.result("explain_memory", query="Who has a cello?", id=id)
    script = explanation_page().partition("<script>")[2].partition("</script>")[0]
    program = tmp_path / "view.js"
    answer = json.dumps(result.model_dump(by_alias=True, mode="json"))
    program.write_text(_BROWSER + script + _HOST.replace("RESULT", answer))
    ran = subprocess.run(["node", program], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    told: Any = json.loads(ran.stdout)
    assert [each.get("method") for each in told["sent"]] == [
        "ui/initialize",
        "ui/notifications/initialized",
        None,
    ]
    assert told["sent"][2] == {"jsonrpc": "2.0", "id": 9, "result": {}}
    assert told["foreign"] == ""
    assert "Who has a cello?" in told["text"]
    assert "Ben has a <b>cello</b>." in told["text"]
    assert "hit 1" in told["text"]
