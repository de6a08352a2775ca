"""The inspector's page in a browser: it shows the numbers of the API, and nothing else happens."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from salience import Memory
from salience.access import Keyring
from salience.evaluation import sample
from salience.ranking import profiles
from support.browser import Inspector
from support.children import PROGRAM
from support.real_server import RealServer, real_server

QUESTIONS = [question["text"] for question in sample.questions()]
QUESTION = QUESTIONS[0]
PROFILES = sorted(profiles.BUILT_IN)


def check_sums(inspector: Inspector, client: httpx.Client, profile: str, question: str) -> None:
    """Compare what the cards draw with what the API gives, to the bit."""
    with inspector.page.expect_response("**/v1/candidates") as asked:  # scores depend on the time
        page = inspector.show("main .chance", q=question, profile=profile)
    hits = [row for row in asked.value.json()["rows"] if row["left"] is None]
    body = {"query": question, "profile": profile, "touch": False}
    found = [hit["id"] for hit in client.post("/search", json=body).json()["hits"]]
    shown = page.eval_on_selector_all(".card", "cards => cards.map(card => card.dataset.id)")
    assert shown == [hit["id"] for hit in hits] == found
    page.eval_on_selector_all(".why", "buttons => buttons.forEach(button => button.click())")
    expect(page.locator(".waterfall")).to_have_count(len(hits))
    sums = page.eval_on_selector_all(".waterfall", "all => all.map(each => each.dataset.sum)")
    assert [float(text) for text in sums] == [hit["score"] for hit in hits]
    assert "does not add up" not in page.inner_text("main")


@pytest.mark.parametrize("profile", PROFILES)
def test_what_is_drawn_adds_up_to_the_score(
    inspector: Inspector, client: httpx.Client, profile: str
) -> None:
    check_sums(inspector, client, profile, QUESTION)


@pytest.mark.deep
@pytest.mark.parametrize("profile", PROFILES)
def test_what_is_drawn_adds_up_for_thirty_questions(
    inspector: Inspector, client: httpx.Client, profile: str
) -> None:
    for question in QUESTIONS[:30]:
        check_sums(inspector, client, profile, question)


def check_order(
    inspector: Inspector, client: httpx.Client, weights: dict[str, float], profile: str
) -> None:
    """Compare the order that the page shows for other weights with that of the server."""
    ready = "[data-source=server]"
    text = json.dumps(weights)
    page = inspector.show(ready, q=QUESTION, view="whatif", profile=profile, weights=text)
    order = page.eval_on_selector_all(".order li", "all => all.map(each => each.dataset.id)")
    body = {"query": QUESTION, "profile": profile, "touch": False, "options": {"weights": weights}}
    assert order == [hit["id"] for hit in client.post("/search", json=body).json()["hits"]]


@pytest.mark.parametrize(
    ("profile", "weights"),
    [
        ("balanced", {"semantic": 3.0}),
        ("balanced", {"lexical": -1.0, "recency": 2.5}),
        ("balanced", {"current_version": 0.0, "named_speaker": 4.0}),
        ("six_factor", {"recency": 1.0}),
        ("vitality", {"semantic": 0.1}),
        ("multi_route", {"memory_score": 1.0}),
    ],
)
def test_the_order_after_other_weights_is_that_of_the_server(
    inspector: Inspector, client: httpx.Client, profile: str, weights: dict[str, float]
) -> None:
    check_order(inspector, client, weights, profile)


@pytest.mark.deep
def test_the_order_after_each_of_fifty_changes_is_that_of_the_server(
    inspector: Inspector, client: httpx.Client
) -> None:
    parts = client.post("/candidates", json={"query": QUESTION}).json()["parts"]
    settable = [part for part in parts if part["values"] and part["weight"] is not None]
    for change in range(50):
        part = settable[7 * change % len(settable)]
        weight = part["weight"] + (change % 9 - 4.5) / 2
        check_order(inspector, client, {part["name"]: weight}, "balanced")


def values_of(table: dict[str, Any], place: int) -> list[Any]:
    """The values of the parts of a row, 0 for a part that is 0 in all rows."""
    return [part["values"][place] if part["values"] else 0.0 for part in table["parts"]]


@pytest.mark.parametrize("changes", [4, pytest.param(50, marks=pytest.mark.deep)])
def test_what_is_computed_here_is_what_the_server_says(
    inspector: Inspector, client: httpx.Client, changes: int
) -> None:
    page = inspector.show("main .chance", q=QUESTION)
    table = client.post("/candidates", json={"query": QUESTION}).json()
    before = {row["id"]: values_of(table, place) for place, row in enumerate(table["rows"])}
    settable = [part["name"] for part in table["parts"] if part["values"] is not None]
    for change in range(changes):
        name = settable[3 * change % len(settable)]
        weights = {name: change - changes / 2}
        local = page.evaluate(
            "async ([table, weights]) => Object.fromEntries((await import('/ui/scores.js'))"
            ".reordered(table, weights).map(({row, score}) => [row.id, score]))",
            [table, weights],
        )
        other = client.post(
            "/candidates", json={"query": QUESTION, "options": {"weights": weights}}
        ).json()
        same = 0  # rows whose parts have the same values: some parts move with a weight
        for place, row in enumerate(other["rows"]):
            if before.get(row["id"]) == values_of(other, place) and row["score"] is not None:
                same += 1
                assert local[row["id"]] == row["score"]
        assert same > len(other["rows"]) / 2


def test_a_memory_that_is_not_returned_says_why(inspector: Inspector, client: httpx.Client) -> None:
    page = inspector.show(".verdict", q=QUESTION, view="trace", memory="fact-database-influx")
    expect(page.locator(".verdict")).to_contain_text("superseded")
    rows = client.post("/candidates", json={"query": QUESTION}).json()["rows"]
    with page.expect_response("**/v1/explain") as asked:  # its numbers depend on the time
        inspector.show(".verdict", q=QUESTION, view="trace", memory=rows[20]["id"])
    expect(page.locator(".verdict")).to_have_text(asked.value.json()["verdict"])
    expect(page.locator(".chosen")).to_have_count(1)


def test_any_two_memories_tell_what_would_turn_their_order(inspector: Inspector) -> None:
    page = inspector.show(".card", q=QUESTION)
    page.click(".why >> nth=2")
    page.select_option(".opened select", "0")
    with inspector.page.expect_response("**/v1/explain") as asked:
        page.click("text=What would turn this order")
        page.wait_for_selector(".turning")
    told = asked.value.json()
    assert (told["rank"], told["against"]["rank"], told["against"]["before"]) == (3, 1, False)
    turning = [
        weight["name"].replace("_", " ")
        for weight in told["weights"]
        if weight["needed"] is not None
    ]
    names = "rows => rows.map(row => row.cells[0].innerText)"
    assert page.eval_on_selector_all(".turning tbody tr", names) == turning[:12]
    assert page.inner_text(".against").startswith("It stands behind")


def test_a_slow_answer_never_stands_under_a_new_question(inspector: Inspector) -> None:
    page = inspector.page
    held: list[Route] = []

    def hold(route: Route) -> None:
        if QUESTIONS[1] in (route.request.post_data or ""):
            held.append(route)
        else:
            route.continue_()

    page.route("**/v1/candidates", hold)
    inspector.show("main .chance", q=QUESTION)
    before = page.inner_text(".cards")
    page.fill("#question", QUESTIONS[1])
    page.press("#question", "Enter")
    page.wait_for_selector("main[aria-busy=true]")
    expect(page.locator(".card")).to_have_count(0)  # the old answer is gone
    page.fill("#question", QUESTIONS[5])
    page.press("#question", "Enter")
    page.wait_for_selector(".card")
    assert held
    for route in held:
        route.continue_()
    inspector.round_trip("/profiles")
    inspector.answered()
    shown = page.eval_on_selector_all(".card", "cards => cards.map(card => card.dataset.id)")
    body = {"query": QUESTIONS[5], "touch": False}
    hits = httpx.post(f"{inspector.server.url}/v1/search", json=body).json()["hits"]
    assert shown == [hit["id"] for hit in hits]
    page.go_back()
    page.go_back()
    expect(page.locator("#question")).to_have_value(QUESTION)
    expect(page.locator(".cards")).to_have_text(before, use_inner_text=True)


def test_keys_move_open_and_ask(inspector: Inspector) -> None:
    page = inspector.show(".card", q=QUESTION)
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_selector(".card:nth-child(1) .waterfall")
    expect(page.locator(".card:nth-child(1)")).to_be_focused()
    page.keyboard.press("/")
    expect(page.locator("#question")).to_be_focused()
    page.keyboard.press("j")
    expect(page.locator("#question")).to_have_value(re.compile("j$"))
    page.goto("about:blank")
    inspector.show(".card", q=QUESTION)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#results")).to_be_focused()
    expect(page).to_have_url(re.compile("#q="))


def test_a_click_filters_and_the_address_is_a_link(inspector: Inspector, chrome: Browser) -> None:
    page = inspector.show(".card", q=QUESTION)
    page.click(".card .chip:has-text('fact') >> nth=0")
    page.wait_for_selector(".filters")
    page.wait_for_selector(".card")
    inspector.answered()
    kinds = page.eval_on_selector_all(
        ".card", "cards => cards.map(card => card.querySelector('.chip').innerText)"
    )
    assert set(kinds) == {"fact"}
    with chrome.new_context() as other:
        copy = other.new_page()
        copy.goto(page.url)
        shown = page.inner_text(".cards")
        expect(copy.locator(".cards")).to_have_text(shown, use_inner_text=True)


@pytest.mark.parametrize("width", [320, 360, 3840])  # the first is 1,280 at 400 %
@pytest.mark.parametrize(
    "view", ["search", "trace", "whatif", "ab", "context", "time", "health", "label", "around"]
)
def test_nothing_has_to_be_scrolled_sideways(inspector: Inspector, width: int, view: str) -> None:
    inspector.page.set_viewport_size({"width": width, "height": 800})
    ready = "main .chance, main table, main .order, main .row, main .then"
    state = {"view": view, "memory": "fact-heron-april", "other": "composite"}
    page = inspector.show(ready, q=QUESTION, **state)
    if view == "search":
        page.click(".why >> nth=0")
        page.wait_for_selector(".waterfall")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def walk(inspector: Inspector) -> None:
    """Go through every view."""
    page = inspector.show(".card", q=QUESTION)
    page.click(".why >> nth=0")
    page.click(".opened summary:has-text('log-odds')")
    page.wait_for_selector(".tree")
    inspector.show(".verdict", q=QUESTION, view="trace", memory="fact-database-influx")
    pair = {"memory": "fact-database-timescale", "against": "fact-retention"}
    inspector.show(".turning", q=QUESTION, view="trace", **pair)
    inspector.show("[data-source=server]", q=QUESTION, view="whatif", weights='{"semantic": 2}')
    page = inspector.show(".feed td", view="health")
    page.click("text=Count them over time")
    page.wait_for_selector(".chart")
    page.click("text=Look for problems")
    page.wait_for_selector(".findings")
    inspector.show(".moves", q=QUESTION, view="ab", other="composite")
    inspector.show(".considered", q=QUESTION, view="context")
    inspector.show(".plot", view="time", asOf="2026-06-01", open="fact-heron-april")
    inspector.show(".labels .row", q=QUESTION, view="label")
    inspector.show(".graph", view="around", memory="fact-database-timescale")


def test_looking_changes_nothing(inspector: Inspector, client: httpx.Client) -> None:
    def everything() -> tuple[bytes, list[Any]]:
        client.post("/flush").raise_for_status()
        records = client.get("/memories", params={"limit": 1000}).json()["memories"]
        return client.get("/events", params={"limit": 1000}).content, records

    before = everything()
    walk(inspector)
    assert everything() == before


OTHERS = (
    "main select",
    ".considered",
    ".then",
    ".feed td",
    ".graph",
    ".labels .row",
)
"""What the views after the third show."""


def test_a_key_that_reads_sees_nothing_that_is_refused(
    chrome: Browser, sample_db: Path, tmp_path: Path
) -> None:
    path = tmp_path / "keys.db"
    path.write_bytes(sample_db.read_bytes())
    made = subprocess.run(
        [
            sys.executable,
            "-c",
            PROGRAM,
            "keys",
            "create",
            "--db",
            path,
            "--scope",
            "memories:read",
            "--json",
            "--namespace",
            "*",
        ],
        capture_output=True,
        check=True,
    )
    key = json.loads(made.stdout)["text"]
    with real_server(path) as server, chrome.new_context() as context:
        inspector = Inspector(context.new_page(), server)
        page = inspector.show("input[type=password]", q=QUESTION)
        page.fill("input[type=password]", key)
        page.press("input[type=password]", "Enter")
        page.wait_for_selector(".card")
        inspector.statuses.clear()
        page.click(".why >> nth=0")
        page.click("nav a >> nth=1")
        page.click(".ladder button >> nth=3")
        page.wait_for_selector(".verdict")
        page.click("nav a >> nth=2")
        page.wait_for_selector(".order")
        for place, ready in enumerate(OTHERS, 3):
            page.click(f"nav a >> nth={place}")
            page.wait_for_selector(ready)
            inspector.answered()
        assert page.locator("text=Look for problems").count() == 0
        assert inspector.statuses
        assert all(status < 400 for status in inspector.statuses)
        kept = "[document.cookie, localStorage.length, sessionStorage.length, location.href]"
        assert page.evaluate(kept)[:3] == ["", 0, 0]
        assert key not in page.evaluate(kept)[3]
        inspector.check()


HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "</bdi></p><svg onload=alert(1)>",
    "javascript:alert(1)",
    "[a](javascript:alert(1)) **bold** &lt;b&gt;",
    "\u202egnirts desrever\u202c \u200bzero\u200dwidth \U000e0041\U000e0042 tag \x07 bell \ufeff",
    "${constructor.constructor('alert(1)')()} {{7*7}}",
    "__proto__",
]
IDS = [f"{place} {text}".replace("\x07", "") for place, text in enumerate(HOSTILE)]
STATES = [
    {"q": "cello"},
    {"q": f"cello {HOSTILE[0]}", "profile": "vitality"},
    {"q": "cello", "profile": HOSTILE[0], "namespace": HOSTILE[2], "memory": HOSTILE[1]},
    {"q": "cello", "view": "trace", "memory": f"0 {HOSTILE[0]}"},
    {"q": f"cello {HOSTILE[1]}", "view": "whatif", "weights": '{"semantic": 2}'},
    {"q": "cello", "view": "ab", "other": "composite"},
    {"q": "cello", "view": "ab", "other": HOSTILE[0]},
    {"q": "cello", "view": "context", "tokens": "150"},
    {"view": "time", "open": f"0 {HOSTILE[0]}", "act": "erase"},
    {"view": "time", "open": HOSTILE[1], "asOf": HOSTILE[0]},
    {"q": "cello", "filters": json.dumps({"kind": HOSTILE[0]})},
    {"view": "health"},
    {"view": "around", "memory": f"0 {HOSTILE[0]}"},
    {"view": "around", "memory": IDS[3], "q": "flute", "profile": "activation"},
    {"view": "around", "memory": IDS[3], "q": HOSTILE[0], "profile": "activation"},
    {"view": "trace", "q": "cello", "memory": IDS[0], "against": IDS[1]},
    {"view": "label", "q": f"cello {HOSTILE[0]}"},
    {"view": "__proto__", "q": "cello", "weights": '{"__proto__": 1}'},
]


@pytest.mark.parametrize("states", [STATES[at : at + 3] for at in range(0, len(STATES), 3)])
def test_hostile_texts_are_shown_and_nothing_more(
    states: list[dict[str, str]], chrome: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "hostile.db"
    with Memory(path) as memory:
        for place, text in enumerate(HOSTILE):
            memory.add(
                f"cello {text}",
                id=IDS[place],
                title=text,
                speaker=text,
                session_id=text,
                kind=text[:60],
                tags=[text],
                entities=[text],
                metadata={text: text},
            )
        for one, other in itertools.pairwise(IDS):
            memory.link(one, other, "supports")
        memory.update(f"0 {HOSTILE[0]}", content=f"cello {HOSTILE[1]}")
    with real_server(path) as server, chrome.new_context() as context:
        inspector = Inspector(context.new_page(), server)
        for state in states:
            ready = "main .card, main .verdict, main .order, main [role=alert], main .feed td"
            ready += ", .moves, .considered, .diff, main .row, .graph"
            page = inspector.show(ready, **state)
            page.eval_on_selector_all(".why", "buttons => buttons.forEach(b => b.click())")
            expect(page.locator(".opened")).to_have_count(page.locator(".card").count())
            made = "img, body script, iframe, b:not(.rank), [onerror], [onload]"
            assert page.locator(f"{made}, a[href^=javascript]").count() == 0
            page.emulate_media(media="print")
            assert page.locator(f"{made}, a[href^=javascript]").count() == 0
            page.emulate_media(media="screen")
            inspector.check()
        page = inspector.show(".card", q="cello")
        shown = page.inner_text(".cards")
        for code in ("U+202E", "U+202C", "U+200B", "U+200D", "U+E0041", "U+0007", "U+FEFF"):
            assert code in shown
        for text in (HOSTILE[0], HOSTILE[1], HOSTILE[4], HOSTILE[6]):
            assert text in shown


@pytest.fixture(scope="module")
def axe_source(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The program of axe, fetched once: by default npm waits five minutes for a lost answer."""
    folder = tmp_path_factory.mktemp("axe")
    command = ["npm", "pack", "--silent", "--fetch-timeout=20000", "axe-core@4.14.1"]
    if subprocess.run(command, cwd=folder, check=False).returncode:
        pytest.skip("the npm registry is not reachable")
    with tarfile.open(next(folder.glob("*.tgz"))) as files:
        member = files.extractfile("package/axe.min.js")
        assert member is not None
        return member.read().decode()


def axe(page: Page, source: str) -> list[str]:
    page.evaluate(source)
    found = page.evaluate("axe.run()")["violations"]
    return [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in found]


@pytest.mark.deep
@pytest.mark.parametrize(
    "look",
    [{"color_scheme": "light"}, {"color_scheme": "dark"}]
    + [{"forced_colors": "active", "color_scheme": scheme} for scheme in ("light", "dark")],
    ids=("light", "dark", "forced-light", "forced-dark"),
)
def test_axe_finds_no_violation(
    chrome: Browser, server: RealServer, axe_source: str, look: dict[str, Any]
) -> None:
    with chrome.new_context(bypass_csp=True, **look) as context:
        inspector = Inspector(context.new_page(), server)
        page = inspector.show(".card", q=QUESTION)
        page.click(".why >> nth=0")
        page.wait_for_selector(".waterfall")
        assert axe(page, axe_source) == []
        page = inspector.show(".verdict", q=QUESTION, view="trace", memory="fact-retention")
        assert axe(page, axe_source) == []
        for ready, state in (
            (".order", {"view": "whatif"}),
            (".moves", {"view": "ab", "other": "composite"}),
            (".considered", {"view": "context"}),
            (".plot", {"view": "time", "open": "fact-heron-april"}),
        ):
            page = inspector.show(ready, q=QUESTION, **state)
            assert axe(page, axe_source) == []
        page = inspector.show(".feed td", view="health")
        page.click("text=Count them over time")
        page.click("text=Look for problems")
        page.wait_for_selector(".chart")
        page.click(".findings button:has-text('…') >> nth=0")
        page.wait_for_selector(".preview button:enabled >> nth=0")
        assert axe(page, axe_source) == []
        page = inspector.show(".labels .row", q=QUESTION, view="label")
        assert axe(page, axe_source) == []
        page = inspector.show(".graph", view="around", memory="fact-database-timescale")
        page.check("text=with entities")
        page.wait_for_selector(".graph .names")
        page.click("summary:has-text('The links')")
        assert axe(page, axe_source) == []


def test_a_wrong_memory_is_corrected_and_taken_back(chrome: Browser, tmp_path: Path) -> None:
    with Memory(tmp_path / "wrong.db") as memory:
        memory.add("The spare key is with Ben.", id="key")
    with real_server(tmp_path / "wrong.db") as server, chrome.new_context() as context:
        inspector = Inspector(context.new_page(), server)
        page = inspector.show(".card", q="Where is the spare key?")
        page.click(".card .more")
        page.click(".drawer button:has-text('Correct')")
        page.fill(".drawer textarea", "The spare key is with Bea.")
        expect(page.locator(".preview ins")).to_have_text("Bea.")
        assert httpx.get(f"{server.url}/v1/memories/key").json()["version"] == 1
        page.click(".preview .main")
        page.wait_for_selector(".drawer .whole:has-text('Bea')")
        expect(page.locator(".card")).to_contain_text("Bea")
        page.click(".last button:has-text('Undo')")
        page.wait_for_selector(".drawer .whole:has-text('Ben')")
        assert "Ben" in httpx.get(f"{server.url}/v1/memories/key").json()["content"]
        inspector.check()


SEND = """async ([memory, key, namespace]) => {
  const { ACTIONS } = await import("/ui/memory.js");
  const headers = { "Content-Type": "application/json", "Salience-Namespace": namespace };
  if (key) headers.Authorization = `Bearer ${key}`;
  return Promise.all(Object.values(ACTIONS).map(async ({ send, scope }) => {
    const [method, path, body] = send(memory, { text: "Changed.", other: "" });
    const content = body && JSON.stringify(body);
    const answer = await fetch(`/v1${path}`, { method, headers, body: content });
    return [scope, answer.status];
  }));
}"""
"""A script that sends the request of every action; the scope and the status of each."""


def test_every_action_is_refused_without_its_scope(chrome: Browser, tmp_path: Path) -> None:
    path = tmp_path / "refused.db"
    with Memory(path) as memory:
        record = memory.add("The spare key is with Ben.", id="key", speaker="Ana").id
        given = memory[record].to_dict()
        before = memory.events().events
    with Keyring.open(path) as keyring:
        reader = keyring.create(namespaces=["default"], scopes=["memories:read"]).text
        scopes = ["memories:write", "memories:delete"]
        other = keyring.create(namespaces=["other"], scopes=scopes).text
    for read_only, key, namespace, refused in (
        (True, reader, "default", {403}),
        (False, reader, "default", {403}),
        (False, other, "default", {403, 404}),
        (False, other, "other", {200, 201, 403, 404, 409, 422}),
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SALIENCE_READ_ONLY", "1" if read_only else "")
            with real_server(path) as server, chrome.new_context() as context:
                page = context.new_page()
                page.goto(f"{server.url}/ui/")
                sent = page.evaluate(SEND, [given, key, namespace])
                assert {status for _, status in sent} <= refused
                assert len(sent) == 10
    with Memory(path) as memory:
        assert memory.events().events == before
