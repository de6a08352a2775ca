"""Facts that change: the world of a seed, and who is found in it."""

from datetime import datetime, timezone
from pathlib import Path

import pytest

from changing_facts import (
    KINDS,
    LANGUAGES,
    Kind,
    evaluate,
    evaluate_languages,
    world,
)
from salience import Memory
from salience.language.dates import past_interval
from salience.ranking.profiles import BUILT_IN
from state_sentences import SENTENCES


def test_a_seed_makes_one_world() -> None:
    assert world(7, people=3, chatter=10) == world(7, people=3, chatter=10)
    assert world(7, people=3, chatter=10) != world(8, people=3, chatter=10)


def test_each_question_has_the_answer_that_held_then() -> None:
    made = world(7, people=5, chatter=20)
    notes = {note.id: note for note in made.notes}
    assert len(notes) == len(made.notes)
    following = {note.before: note for note in made.notes if note.before}
    for asked in made.questions:
        answer = notes[asked.answer]
        assert answer.fact is not None
        assert answer.fact[0] in asked.text
        ended = following[answer.id].at if answer.id in following else None
        if asked.kind == "now":
            assert ended is None
        else:
            assert ended is not None
        if asked.at is not None:
            assert answer.at < asked.at < following[answer.id].at
        if asked.kind == "then":
            about = past_interval(asked.text, made.now)
            assert about is not None
            assert answer.at.timestamp() <= about[0]
            assert about[1] <= following[answer.id].at.timestamp()
    assert {asked.kind for asked in made.questions} == set(KINDS)


@pytest.mark.deep
def test_the_default_profile_leads() -> None:
    names = ("balanced", "composite", "activation")
    kinds: tuple[Kind, ...] = ("now", "then")
    found = evaluate([BUILT_IN[name] for name in names], people=6, kinds=kinds)
    assert len(found) == len(names) * 2 * len(kinds)
    for declared in (False, True):
        for kind in kinds:
            best = {o.profile: o.recall for o in found if (o.declared, o.kind) == (declared, kind)}
            assert best["balanced"] == max(best.values()), (declared, kind, best)


@pytest.mark.parametrize(
    ("text", "begin", "end"),
    [
        ("Where did Ana live in March 2024?", (2024, 3, 1), (2024, 4, 1)),
        ("Where did Ana live in 2023?", (2023, 1, 1), (2024, 1, 1)),
        ("Where did Ana live in December?", (2025, 12, 1), (2026, 1, 1)),
        ("Where did Ana live in February?", (2026, 2, 1), (2026, 3, 1)),
        ("What was it on 5 May 2024?", (2024, 5, 5), (2024, 5, 6)),
        ("Between February and June 2024?", (2024, 2, 1), (2024, 7, 1)),
        ("Where does Ana live now?", None, None),
        ("Where will Ana live in 2031?", None, None),
    ],
)
def test_the_time_that_dates_name(
    text: str, begin: tuple[int, int, int] | None, end: tuple[int, int, int] | None
) -> None:
    now = datetime(2026, 2, 20, tzinfo=timezone.utc)
    about = past_interval(text, now)
    if begin is None or end is None:
        assert about is None
        return
    expected = [datetime(*day, tzinfo=timezone.utc).timestamp() for day in (begin, end)]
    assert about is not None
    assert list(about) == expected


@pytest.mark.one_in(5)
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_state_in_force_is_found_first(language: str) -> None:
    found = evaluate_languages(BUILT_IN["balanced"], languages=[language], people=1)
    right = {outcome.asked: outcome.right for outcome in found}
    assert right["present"] >= 0.8, right  # five of the six topics at least
    assert right["now"] >= 0.8, right


def test_the_states_of_a_language_are_written_alike() -> None:
    for told in SENTENCES.values():
        for topic in told.topics:
            assert len(topic.told) == 3
            assert len(set(topic.values)) == 6
            assert all(text.count("{}") == 1 for text in topic.told)


@pytest.mark.deep
@pytest.mark.parametrize("language", ["zh", "de"])
def test_stores_agree_in_other_languages(language: str, tmp_path: Path) -> None:
    told = SENTENCES[language]
    texts = [text.format(topic.values[0]) for topic in told.topics for text in topic.told]
    items = [
        {"content": text, "created_at": f"2025-01-{i + 1:02d}"} for i, text in enumerate(texts)
    ]
    now = datetime(2026, 1, 1, tzinfo=timezone.utc)
    ranked = []
    for url in ("ram://", f"sqlite:///{tmp_path / 'memory.db'}"):
        with Memory.open(url) as memory:
            memory.add_many({**item, "id": str(i)} for i, item in enumerate(items))
            questions = [
                text for topic in told.topics for text in (*topic.asked, topic.asked_former)
            ]
            ranked.append(
                [
                    [(hit.id, hit.score) for hit in memory.search(text, now=now, touch=False)]
                    for text in questions
                ]
            )
    assert ranked[0] == ranked[1]
