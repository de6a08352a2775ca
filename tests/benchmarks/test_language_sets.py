"""Reading sets as conversations: where sentences end, and which of them holds an answer."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from languages import conversation, main, sentences

TEXTS = {
    "The ferry to the island is red. It sails at 7.30 on weekdays! Nobody takes it.": 3,
    "渡し船は赤いです、島へ行く船です。平日は七時に港を出ます、寒いです。": 2,
    "Паром на остров красный. Он уходит в семь часов утра.": 2,
    "द्वीप की नाव लाल रंग की है। वह सुबह सात बजे जाती है।": 2,
    "هل العبارة حمراء اللون اليوم؟ تغادر في السابعة صباحا.": 2,
    "Cf. the ferry of 1890. It was made of oak, and it sank.": 2,
}


@pytest.mark.parametrize(("text", "count"), TEXTS.items())
def test_sentences_of_every_script(text: str, count: int) -> None:
    found = list(sentences(text))
    assert len(found) == count
    assert all(text[start:].startswith(sentence) for start, sentence in found)
    assert "".join(sentence for _, sentence in found).replace(" ", "") == text.replace(" ", "")


def reading_set(context: str, answer: str) -> dict[str, Any]:
    given = [{"text": answer, "answer_start": context.index(answer)}]
    asked = [{"question": "When?", "answers": given}, {"question": "Whose?", "answers": []}]
    paragraphs = [{"context": "Another text, of one sentence.", "qas": []}]
    return {"data": [{"paragraphs": [*paragraphs, {"context": context, "qas": asked}]}]}


@pytest.mark.parametrize(
    ("context", "whole", "relevant"),
    [
        ("The ferry to the island is red. It sails at seven o'clock.", False, "m2"),
        ("The ferry to the island is red. It sails at seven o'clock.", True, "m1"),
        ("Ferries [SEP] The ferry to the island is red. It sails at seven o'clock.", False, "m2"),
    ],
)
def test_the_sentence_with_the_answer_is_relevant(
    tmp_path: Path, context: str, whole: bool, relevant: str
) -> None:
    source = tmp_path / "set.json.gz"
    with gzip.open(source, "wt", encoding="utf-8") as file:
        json.dump(reading_set(context, "seven"), file)
    made = conversation(source, whole=whole, questions=9, seed=0)
    assert made["queries"] == [{"text": "When?", "relevant": [relevant]}]
    [answer] = [memory["text"] for memory in made["memories"] if memory["id"] == relevant]
    assert answer.endswith("It sails at seven o'clock.")
    assert "[SEP]" not in answer


def test_a_set_is_converted_and_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source, folder = tmp_path / "set.json", tmp_path / "ferry"
    document = reading_set("The ferry to the island is red. It sails at seven o'clock.", "seven")
    source.write_text(json.dumps(document), encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["languages.py", "convert", str(source), str(folder)])
    main()
    assert "3 memories, 1 questions" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["languages.py", "compare", str(folder)])
    main()
    assert capsys.readouterr().out.splitlines()[-1].startswith("| ferry | 1 | ")
