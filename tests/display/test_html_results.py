"""HTML of results: in a notebook and as a page, for every eye, and never more than text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest
from IPython.core.formatters import DisplayFormatter

from salience import Memory
from salience.display.html import HtmlResult, page, part
from salience.display.result import Result
from support.kitchen import QUERY, crowd

_STYLE = re.search(r"<style>\n(.*?)</style>", part([]), re.S)
assert _STYLE is not None
STYLE = re.sub(r"/\*.*?\*/", "", _STYLE[1], flags=re.S)
BAD = '"><script>alert(1)</script><b onclick="x">&amp;'


@pytest.fixture(scope="module")
def shown() -> list[HtmlResult]:
    """A result of each kind that is shown as HTML, with texts that try to be more."""
    memory = crowd(2)
    memory.add(f"{BAD} saffron cos=0.95", id=f"id{BAD}", speaker=BAD, session_id=BAD)
    query = f"{QUERY} {BAD}"
    result = memory.search(query, explain=True)
    assert result[0].explanation is not None
    return [
        result,
        result[0].explanation,
        memory.explain(query, f"id{BAD}"),
        memory.explain(query, "salad", limit=2),
        memory.explain(query, "salad", filters={"speaker": BAD}),
        memory.inspect.compare(query, ["balanced", "composite", "activation"]),
        memory.get_all(),
        memory.inspect.zones(),
        memory.inspect.zone_shares(points=9),
        result[0],
        memory[f"id{BAD}"],
        memory.get_context(query),
        memory.history(f"id{BAD}"),
        memory.upkeep.audit(),
        memory.upkeep.prune(),
    ]


def test_what_is_empty_says_so() -> None:
    with Memory("ram://", embedder=None) as memory:
        results = [memory.search("saffron"), memory.get_all(), memory.get_context("saffron")]
        results += [memory.upkeep.audit(), memory.upkeep.prune()]
        for result in results:
            assert '<p class="soft">No memory' in result._repr_html_() or "no problem" in (
                result._repr_html_()
            )


def test_a_search_shows_probability_and_the_strongest_reasons(shown: list[HtmlResult]) -> None:
    text = Parsed(shown[0]._repr_html_()).text
    assert "probability" in text
    assert re.search(r"(semantic|lexical) \d\.\d\d, ", text)


class Parsed(HTMLParser):
    """Collects tags and text, and holds that every tag is closed where it should be."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_notebook_shows_html_and_a_console_one_line(shown: list[HtmlResult]) -> None:
    display: Any = DisplayFormatter()
    for result in shown:
        data, _ = display.format(result)
        assert data["text/html"].startswith('<div class="salience">')
        assert data["text/plain"] == repr(result)


def test_texts_stay_texts_and_nothing_is_loaded(shown: list[HtmlResult]) -> None:
    for result in shown:
        for html in (part(result._sections()), result.to_html()):
            parsed = Parsed(html)
            assert not {tag for tag, _ in parsed.tags} & {"script", "b onclick", "link", "img"}
            assert not {name for _, attrs in parsed.tags for name in attrs} & {"onclick", "src"}
            assert not re.search(r"url\(|@import|https?:", html)
    assert all(BAD in Parsed(result.to_html()).text for result in shown[:1])


def test_the_page_has_all_that_the_part_has(shown: list[HtmlResult]) -> None:
    for result in shown:
        assert "".join(result._sections()) in result.to_html().replace("\n<section", "<section")


def outermost(style: str) -> Iterator[str]:
    """The rules that are not within another."""
    depth, begin = 0, 0
    for at, character in enumerate(style):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "}" and depth == 0:
            yield style[begin : at + 1].strip()
            begin = at + 1
    assert not style[begin:].strip()


def test_no_style_reaches_beyond_the_result() -> None:
    [rule] = outermost(STYLE)
    assert rule.startswith(":is(.salience, #_) {")
    assert rule.count("{") > 40
    assert "!important" not in rule
    assert ":root" not in rule
    assert 'id="_"' not in part([])
    assert "<title>a &lt;b&gt;</title>" in page("a <b>", [])


def _colours(theme: int) -> dict[str, tuple[float, float, float]]:
    """The named colours in the light (0) or in the dark (1), as shares of red, green and blue."""
    colours = {}
    for name, *pair in re.findall(r"--([\w-]+):\s*light-dark\(#(\w+),\s*#(\w+)\)", STYLE):
        digits = pair[theme] if len(pair[theme]) == 6 else "".join(2 * d for d in pair[theme])
        red, green, blue = (int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4))
        colours[name] = (red, green, blue)
    return colours


def _luminance(colour: tuple[float, float, float]) -> float:
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: tuple[float, float, float], other: tuple[float, float, float]) -> float:
    """The contrast ratio of WCAG 2, from 1 to 21."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


TEXTS = [
    *((name, ground) for name in ("text", "soft", "good", "bad") for ground in ("back", "card")),
    ("card", "good"),
    ("card", "bad"),
]
SHAPES = [
    *((name, "line") for name in ("bar", "less", "text", "bad")),
    *((name, "card") for name in ("bar", "less", "text", "bad", "zone-1", "zone-2")),
]


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_contrast_is_that_of_wcag_aa(theme: int) -> None:
    colours = _colours(theme)
    for name, ground in TEXTS:
        assert contrast(colours[name], colours[ground]) >= 4.5, (name, ground)
    for name, ground in SHAPES:
        assert contrast(colours[name], colours[ground]) >= 3.0, (name, ground)
    zones = [_luminance(colours[f"zone-{number}"]) for number in range(1, 5)]
    assert zones in (sorted(zones), sorted(zones, reverse=True))  # their order shows in grey, too
    for one, other in zip("123", "234", strict=True):
        pair = contrast(colours[f"zone-{one}"], colours[f"zone-{other}"])
        assert pair >= 1.3, (one, other)


def test_narrow_dark_and_paper_have_rules() -> None:
    for rule in ("@container (max-width", "@media print", "light-dark(", "break-inside: avoid"):
        assert rule in STYLE


def test_results_without_a_picture_have_no_html() -> None:
    kind: Any = type("Plain", (Result,), {})
    assert not hasattr(kind(), "_repr_html_")
