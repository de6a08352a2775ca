"""Passages: where a long text is split."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience.language.passages import (
    LONG_WORDS,
    LONGEST_PASSAGE,
    MAX_PASSAGES,
    SPLITTER,
    is_vector_name,
    passage_text,
    place_of_vector,
    vector_name,
)

SENTENCE = "The ferry leaves the small harbour at nine in the morning. "  # of 11 words


def texts(text: str) -> list[str]:
    """The passages of a text."""
    return [text[span.start : span.end] for span in SPLITTER.split(text)]


def test_a_short_text_is_not_split() -> None:
    assert SPLITTER.split("word " * (LONG_WORDS - 1)) == ()
    assert SPLITTER.split("") == ()
    assert SPLITTER.split("x" * 10_000) == ()


def test_sentences_stay_whole() -> None:
    passages = texts(SENTENCE * 30)
    assert len(passages) > 3
    assert all(len(passage.split()) <= LONGEST_PASSAGE for passage in passages)
    assert all(passage.startswith("The ferry") and passage[-1] == "." for passage in passages)
    assert " ".join(passages) == (SENTENCE * 30).strip()


def test_a_heading_begins_a_passage_that_stands_under_it_and_those_above() -> None:
    text = (
        f"# Travel\n\n{SENTENCE * 6}\n\n## Ferries ##\n\n{SENTENCE * 6}\n\n"
        f"# Home\n\n{SENTENCE * 6}\n\nGarden\n------\n\n{SENTENCE * 6}"
    )
    spans = SPLITTER.split(text)
    assert list(dict.fromkeys(span.heading for span in spans)) == [
        "Travel", "Travel > Ferries", "Home", "Home > Garden",
    ]  # fmt: skip
    assert all("#" not in passage and "---" not in passage for passage in texts(text))


def test_a_sign_in_code_is_no_heading() -> None:
    function = "def area(width, height):\n    # both in metres\n    return width * height\n\n\n"
    text = f"# Code\n\n```python\n{function * 30}```\n\n{SENTENCE * 3}"
    spans = SPLITTER.split(text)
    assert {span.heading for span in spans} == {"Code"}
    middle = [text[span.start : span.end] for span in spans[1:-1]]
    assert middle
    assert all(passage.startswith("def area") for passage in middle)


def test_items_of_a_list_stay_whole() -> None:
    items = "".join(
        f"- The number {number} of the things to take along on the way\n" for number in range(40)
    )
    assert all(passage.startswith("- ") and passage.endswith("way") for passage in texts(items))


def test_short_sections_share_a_passage() -> None:
    text = "".join(f"## Day {day}\n\nIt rained all day.\n\n" for day in range(80))
    spans = SPLITTER.split(text)
    assert len(spans) < 40
    assert spans[0].heading == "Day 0"


@pytest.mark.parametrize(
    "text",
    [
        "word " * 100_000,
        "大家好。" * 40_000,
        "a\n\n" * 80_000,
        *(f"## Part\n\n{'word ' * words}\n\n" * (80_000 // words) for words in (1, 17, 60, 200)),
    ],
)
def test_a_very_long_text_has_longer_passages(text: str) -> None:
    assert 50 < len(SPLITTER.split(text)) <= MAX_PASSAGES


def test_chinese_is_split_at_its_sentences() -> None:
    passages = texts("今天下午我们在公园里散步。" * 60)
    assert len(passages) > 2
    assert all(passage.endswith("。") for passage in passages)


LINES = st.sampled_from(
    ["# One", "## Two", "===", "---", "```", "~~~", "- item " * 9, "", "def f(x):", SENTENCE * 4,
     "1. first", "word " * 90, "本日は晴天なり。" * 20, "\t", "x" * 50]
)  # fmt: skip


@given(st.lists(LINES, max_size=60).map("\n".join))
def test_passages_are_in_order_and_leave_no_word_out_but_headings(text: str) -> None:
    spans = SPLITTER.split(text)
    assert SPLITTER.split(text) == spans
    assert len(spans) <= MAX_PASSAGES
    for span in spans:
        own = text[span.start : span.end]
        assert own
        assert own == own.strip()
    assert all(before.end <= after.start for before, after in pairwise(spans))
    if spans:
        covered = "".join(text[span.start : span.end] for span in spans)
        assert covered.count("harbour") == text.count("harbour")
        assert covered.count("word") == text.count("word")


def test_a_passage_is_found_by_its_title_and_headings_too() -> None:
    text = f"# Ferries\n\n{SENTENCE * 20}"
    span = SPLITTER.split(text)[0]
    assert passage_text(span, "Notes", text).startswith("Notes\nFerries\nThe ferry leaves")
    assert passage_text(span, None, text).startswith("Ferries\nThe ferry leaves")


def test_names_of_vectors() -> None:
    assert vector_name(12) == "content#12"
    assert place_of_vector("content#12") == 12
    assert is_vector_name("content#0")
    assert not is_vector_name("content")
    assert not is_vector_name("content#x")
