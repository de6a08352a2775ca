"""Gates: a pattern behind one matches the same texts as the pattern by itself."""

from __future__ import annotations

import random
import re

import pytest

from salience.language import gates
from salience.language.cues import CUES
from salience.language.gates import Gates
from salience.language.statements import personal

_ATOMS = ("a", "b", "ab", "the", " ", "-", "'", "_", r"\b", r"\w", r"\s", r"\W", r"\d", ".", "[ab]")
_MORE = (r"[^a]", r"[ -]", "é", "(?=a)", "(?<!b)", "(?!ab)", "^", "$", r"\B", "3")


def _pattern(random: random.Random, depth: int) -> str:
    parts = []
    for _ in range(random.randint(1, 5)):
        if depth and random.random() < 0.4:
            inner = "|".join(_pattern(random, depth - 1) for _ in range(random.randint(1, 4)))
            mark = random.choice(("", "", "", "?", "{0,2}", "{2,3}?"))
            parts.append(f"(?:{inner}){mark}")
        else:
            atom = random.choice(_ATOMS if random.random() < 0.8 else _MORE)
            mark = random.choice(("", "", "", "?", "{0,3}")) if atom[0] not in "\\(^$" else ""
            parts.append(atom + mark)
    return "".join(parts)


def test_a_gate_lets_every_text_in_that_its_pattern_matches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gates, "_ASKED_PLAINLY", 0)
    monkeypatch.setattr(gates, "_MAX_STRINGS", 3)  # as small patterns as these have many then
    drawn = random.Random(4)
    found = 0
    for _ in range(800):
        pattern = re.compile("|".join(_pattern(drawn, 2) for _ in range(drawn.randint(1, 2))))
        gate = Gates([(1, pattern)])
        for _ in range(12):
            pieces = drawn.choices(("a", "b", "ab", "the", " ", " ", "-", "'", "_", "3", "é"), k=9)
            text = "".join(pieces)
            matches = pattern.search(text) is not None
            assert (gate.first(text) == 1) == matches, (pattern.pattern, text)
            found += matches
    assert found > 700


def test_what_is_left_out_of_a_large_pattern_ends_no_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gates, "_ASKED_PLAINLY", 0)
    monkeypatch.setattr(gates, "_MAX_STRINGS", 3)
    for pattern, text in (
        ("((?:aa|ba|bb|ab)(?: a|-b| the|-3)bear)", "aa thebear"),
        ("bear((?:the |of |in |to )(?:a|b|ab|ba))", "bearthe ab"),
    ):
        assert Gates([(1, re.compile(pattern))]).first(text) == 1


def test_the_first_key_is_that_of_the_pattern_that_stands_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gates, "_ASKED_PLAINLY", 1)
    gate = Gates([("tea", re.compile(r"\btea\b")), ("drink", re.compile(r"\b(?:tea|milk)s?\b"))])
    texts = ["no tea or milk", "milks and tea", "milk", "steam", "a_tea", "tea-time"]
    found = ["tea", "tea", "drink", None, None, "tea"]
    assert [gate.first(text) for text in texts] == found


def test_personal_statements_are_told_alike_with_gates_and_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gates, "_ASKED_PLAINLY", 0)
    patterns = [(1, personal.HEALTH_STATED), (2, personal.CIRCUMSTANCE_STATED)]
    patterns.append((3, personal.PREFERENCE_STATED))
    gate = Gates(patterns)
    for text in (text for cue in CUES.values() for text in (cue.catches, cue.must_not_catch)):
        plainly = next((key for key, pattern in patterns if pattern.search(text)), None)
        assert gate.first(text) == plainly, text
