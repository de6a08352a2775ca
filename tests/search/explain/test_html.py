"""The page: complete in itself, escaped, and never a way out to the network."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from salience.ranking import profiles
from support.kitchen import QUERY, kitchen

_VOID = {"meta", "br"}


class Checked(HTMLParser):
    """Collects tags and text, and holds that every tag is closed where it should be."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.one_in(4)
@pytest.mark.parametrize("profile", sorted(profiles.BUILT_IN))
@pytest.mark.parametrize("id", ["risotto", "salad"])
def test_the_page_is_sound_and_loads_nothing(profile: str, id: str) -> None:
    report = kitchen().explain(QUERY, id, profile=profile, limit=2)
    html = report.to_html()
    page = Checked(html)
    assert QUERY in page.text
    assert report.record.content in page.text
    assert not {tag for tag, _ in page.tags} & {"script", "link", "img", "iframe", "object"}
    assert not any({"src", "href"} & set(attrs) for _, attrs in page.tags)
    assert not re.search(r"url\(|@import|https?:", html)
    assert "light-dark(" in html


def test_every_text_is_escaped() -> None:
    memory = kitchen()
    bad = '"><script>alert(1)</script>&amp;'
    memory.add(f"{bad} saffron cos=0.1", id=f"id{bad}", importance=0.0)
    query = f"saffron {bad}"
    for options in ({}, {"filters": {"speaker": bad}}, {"limit": 1, "profile": "composite"}):
        html = memory.explain(query, f"id{bad}", **options).to_html()
        assert "<script" not in html
        assert f"id{bad}" in Checked(html).text


def test_a_bar_for_every_part_that_counts() -> None:
    report = kitchen().explain(QUERY, "risotto", profile="composite")
    html = report.to_html()
    for part in ("similarity", "importance", "recency"):
        assert f"<td>{part}</td>" in html
