"""Shares of questions whose right value comes first, where one changed and where none did.

    python changes.py                  # the shares right, by set and language
    python changes.py --wrong          # with what is wrong

`changes/*pairs.tsv` has a language, a value, its later change, a question about the present and, in
some, one about the past; `changes/*unrelated.tsv` and `everyday-others.tsv` two things that both
hold, and a question about the first.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path

from salience import Memory

SETS = Path(__file__).parent / "changes"
NOW = datetime(2026, 6, 1, 12, tzinfo=timezone.utc)
TOLD = ("2024-03-01", "2026-02-01")
_NOW_WORDS = {"en": " now", "de": " jetzt", "es": " ahora", "fr": " maintenant", "zh": ""}
_KINDS = ("note", "fact", "turn")


def read(path: Path) -> list[list[str]]:
    """The rows of a set."""
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]


def with_now(language: str, question: str) -> str:
    """A question with a word for now."""
    if language == "zh":
        return "现在" + question
    mark = next(mark for mark in (" ?", "?") if question.endswith(mark))
    return question.removesuffix(mark) + _NOW_WORDS[language] + mark


def memory_of(texts: Sequence[str], kind: str) -> tuple[Memory, list[str]]:
    """A memory of texts told one after the other, and the outcomes of adding them."""
    memory = Memory("ram://")
    outcomes: list[str] = []
    for place, text in enumerate(texts):
        item = {"content": text, "id": str(place), "created_at": TOLD[place], "kind": kind}
        if kind == "turn":
            item |= {"session_id": f"s{place}", "speaker": "user"}
        outcomes += [added.outcome for added in memory.add_many([item]).items]
    return memory, outcomes


def judged(row: Sequence[str], kind: str) -> dict[str, bool]:
    """True if the right one of a pair comes first, by the way of asking."""
    language, old, new, present, past = row
    memory, _ = memory_of((old, new), kind)
    asked = {"present": (present, "1"), "now": (with_now(language, present), "1")}
    if past:
        asked["past"] = (past, "0")
    with memory:
        return {
            name: memory.search(question, limit=2, now=NOW, touch=False).ids[:1] == (right,)
            for name, (question, right) in asked.items()
        }


def moved(row: Sequence[str], kind: str) -> bool:
    """True if something unrelated is taken for a version of what it does not change."""
    _, first, second, question = row
    memory, outcomes = memory_of((first, second), kind)
    with memory:
        reports = (str(memory.explain(question, id, now=NOW, limit=2)) for id in "01")
        return "CONFLICTS" in outcomes or any("other versions" in text for text in reports)


def measure(path: Path) -> Iterator[tuple[str, str, str, Sequence[str], bool]]:
    """Of each row: language, kind of memory, way of asking, and whether all is right."""
    for row in read(path):
        for kind in _KINDS:
            if len(row) == 5:
                for name, right in judged(row, kind).items():
                    yield row[0], kind, name, row, right
            else:
                yield row[0], kind, "unmoved", row, not moved(row, kind)


def main() -> None:
    """Print the shares."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", type=Path, default=sorted(SETS.glob("*.tsv")))
    parser.add_argument("--wrong", action="store_true", help="print the pairs that are wrong")
    arguments = parser.parse_args()
    for path in arguments.sets:
        found = list(measure(path))
        for kind in _KINDS:
            for name in dict.fromkeys(asked for _, _, asked, _, _ in found):
                of_kind = [one for one in found if one[1:3] == (kind, name)]
                shares = []
                for language in ("", *dict.fromkeys(one[0] for one in of_kind)):
                    right = [one[4] for one in of_kind if language in ("", one[0])]
                    shares.append(f"{language or 'all'} {sum(right) / len(right):.3f}")
                print(f"{path.stem:12} {kind:5} {name:8}", "  ".join(shares), flush=True)
                for one in of_kind if arguments.wrong else ():
                    if not one[4]:
                        print("    ", " | ".join(one[3]))


if __name__ == "__main__":
    main()
