import re
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby, islice, pairwise
from typing import Any

import numpy as np
import pytest

from salience.evaluation import synthetic_chats
from salience.evaluation.synthetic_chats import _ASKED, queries, realistic

Item = dict[str, Any]

ITEMS = list(realistic(8_000))
WORD = re.compile(r"\w+")


def words(items: Iterable[Item]) -> list[str]:
    return [word for item in items for word in WORD.findall(item["content"].lower())]


def test_it_yields_as_many_as_asked_for_with_unique_ids() -> None:
    assert len(ITEMS) == len({item["id"] for item in ITEMS}) == 8_000
    for n in (0, 1, 19, 2_001):
        assert sum(1 for _ in realistic(n)) == n


def test_an_item_has_the_fields_of_a_turn() -> None:
    for item in ITEMS[:500]:
        assert set(item) == {"id", "content", "speaker", "session_id", "kind", "created_at"}
        assert item["kind"] == "turn"
        assert datetime.fromisoformat(item["created_at"]).tzinfo == UTC


def test_a_seed_gives_the_same_texts_and_another_others() -> None:
    assert list(realistic(300, seed=5)) == list(realistic(300, seed=5))
    assert [i["content"] for i in realistic(300, seed=5)] != [
        i["content"] for i in realistic(300, seed=6)
    ]


def test_the_texts_of_a_smaller_number_are_the_first_of_a_larger() -> None:
    few = [(item["id"], item["content"], item["session_id"]) for item in realistic(2_500)]
    assert few == [(item["id"], item["content"], item["session_id"]) for item in ITEMS[:2_500]]


def test_lengths_are_those_of_chat() -> None:
    lengths = [len(item["content"].split()) for item in ITEMS]
    assert min(lengths) >= 8
    assert max(lengths) <= 60
    assert 20 <= statistics.median(lengths) <= 25
    assert statistics.quantiles(lengths, n=10)[-1] >= 35


def test_texts_read_as_sentences() -> None:
    for item in ITEMS[:2_000]:
        text = item["content"]
        assert text[0].isupper() or text[0].isdigit()
        assert text[-1] in ".!…"
        assert "{" not in text
        assert "  " not in text


def test_texts_hardly_repeat() -> None:
    assert len({item["content"] for item in ITEMS}) > 0.999 * len(ITEMS)


def test_sessions_are_talks_of_two_about_twenty_turns_long() -> None:
    sizes = []
    for _, group in groupby(ITEMS[:-40], key=lambda item: item["session_id"]):
        turns = list(group)
        sizes.append(len(turns))
        assert len({turn["speaker"] for turn in turns}) == 2
        assert all(a["created_at"] < b["created_at"] for a, b in pairwise(turns))
        assert all(a["speaker"] != b["speaker"] for a, b in pairwise(turns))
    assert 18 <= statistics.mean(sizes) <= 22
    assert len({item["session_id"] for item in ITEMS}) == pytest.approx(400, rel=0.1)
    assert len({item["speaker"] for item in ITEMS}) == 40


@pytest.mark.one_in(2)
@pytest.mark.parametrize("n", [2_000, 8_000])
def test_times_spread_over_two_years(n: int) -> None:
    times = [datetime.fromisoformat(item["created_at"]) for item in realistic(n)]
    assert times[0].year == 2024
    assert 700 <= (max(times) - min(times)).days <= 731


def test_few_words_are_most_of_the_text_and_many_come_once() -> None:
    counts = Counter(words(ITEMS))
    total = sum(counts.values())
    assert 0.03 < counts.most_common(1)[0][1] / total < 0.12
    assert sum(count for _, count in counts.most_common(100)) > 0.4 * total
    assert sum(count == 1 for count in counts.values()) > 0.35 * len(counts)


def test_the_vocabulary_keeps_growing_with_the_text() -> None:
    grown = [len(set(words(ITEMS[:n]))) for n in (500, 2_000, 8_000)]
    assert grown[0] > 1_500
    for smaller, larger in pairwise(grown):
        assert 1.3 < larger / smaller < 3.0  # four times the text: an exponent of 0.2 to 0.8


def test_turns_of_a_session_share_words() -> None:
    nouns = set(synthetic_chats.NOUNS)

    def shared(pairs: Sequence[tuple[Item, Item]]) -> float:
        return statistics.mean(len(nouns & set(words([a])) & set(words([b]))) for a, b in pairs)

    near = [(a, b) for a, b in pairwise(ITEMS) if a["session_id"] == b["session_id"]]
    far = list(zip(ITEMS[:4_000], ITEMS[4_000:], strict=True))
    assert shared(near[:3_000]) > 1.5 * shared(far[:3_000])


def test_turns_are_made_in_large_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = synthetic_chats._batch
    starts: list[int] = []

    def counted(rng: np.random.Generator, start: int, total: int) -> Iterator[Item]:
        starts.append(start)
        return batch(rng, start, total)

    monkeypatch.setattr(synthetic_chats, "_batch", counted)
    assert sum(1 for _ in realistic(30_000)) == 30_000
    assert len(starts) <= 30_000 / 1_000


def test_word_lists_have_no_word_twice() -> None:
    for name in ("NAMES", "CITIES", "NOUNS", "VERBS", "ADJECTIVES", "ADVERBS"):
        found = getattr(synthetic_chats, name)
        assert len(set(found)) == len(found), name


def test_queries_take_their_words_from_one_item() -> None:
    vocabulary = set(words(ITEMS)) | {item["speaker"].lower() for item in ITEMS}
    asked = queries(300, ITEMS, seed=1)
    assert len(asked) == 300
    assert len(set(asked)) > 290
    names = set(synthetic_chats.NAMES)
    for question in asked:
        assert names & set(re.findall(r"\w+", question)), question
    frames = set(WORD.findall(" ".join([*_ASKED, *synthetic_chats.MONTHS]).lower()))
    own = [[w for w in WORD.findall(q.lower()) if w not in frames] for q in asked]
    assert all(set(found) <= vocabulary for found in own)
    assert 2.5 <= statistics.mean(len(found) for found in own) <= 7


def test_a_query_belongs_to_the_item_it_is_about() -> None:
    item = {"content": "Leila sold the Brixtal harmonium", "created_at": "2025-03-04T10:00:00Z"}
    asked = queries(60, [item])
    assert all("Leila" in question for question in asked)
    assert all(
        len({"sold", "Brixtal", "harmonium"} & set(re.findall(r"\w+", question))) >= 2
        for question in asked
    )
    with_month = [question for question in asked if "in March" in question]
    assert 0 < len(with_month) < 60


def test_queries_are_deterministic_and_take_datetimes() -> None:
    dated = [
        {**item, "created_at": datetime.fromisoformat(item["created_at"])}
        for item in islice(ITEMS, 50)
    ]
    assert queries(20, ITEMS[:50], seed=3) == queries(20, dated, seed=3)
    assert queries(5, []) == []
