"""Words, stems, term ids and trigrams."""

import os
import subprocess
import sys
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience.language.entities import RULES, fold_name
from salience.language.tokens import (
    fold,
    indexed_words,
    stem,
    term_id,
    term_ids,
    terms,
    text_key,
    trigram_similarity,
    trigrams,
    words,
)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("CAFE", "cafe"),
        ("Café", "cafe"),
        ("Cafe\u0301", "cafe"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("ﬁne ＡＢＣ", "fine abc"),
        ("Ёлка", "елка"),
        ("Новый Йо\u0301д", "новый йод"),
        ("Київ, Ўсё", "київ, ўсе"),
        ("Ἀθῆναι", "αθηναι"),
        ("مَرْيَم", "مريم"),
        ("שָׁלוֹם", "שלום"),
        ("हिन्दी", "हिन्दी"),
        ("ガード", "ガード"),
        ("İstanbul", "istanbul"),
        ("người Việt", "nguoi viet"),
    ],
)
def test_folding(text: str, folded: str) -> None:
    assert fold(text) == folded


@given(st.text())
def test_folding_twice_is_folding_once_for_words(text: str) -> None:
    assert words(fold(text)) == words(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("?!", []),
        ("Hello, World!", ["hello", "world"]),
        ("don't stop", ["don", "t", "stop"]),
        ("snake_case snaké_case", ["snake", "case", "snake", "case"]),
        ("3.14 and x2", ["3", "14", "and", "x2"]),
        ("東京", ["东", "东京", "京"]),
        ("東", ["东"]),
        ("東京大学", ["东", "东京", "京", "京大", "大", "大学", "学"]),
        ("東京2026年", ["东", "东京", "京", "2026", "年"]),
        ("佐々木", ["佐", "佐々", "々", "々木", "木"]),
        ("二〇年", ["二", "二〇", "〇", "〇年", "年"]),
        ("iPhoneを買う", ["iphone", "を", "を买", "买", "买う", "う"]),
        ("한국어 단어", ["한", "한국", "국", "국어", "어", "단", "단어", "어"]),
        ("ตลาด", ["ตล", "ลา", "าด"]),
        ("हिन्दी भाषा।", ["हिन्दी", "भाषा"]),
        ("தமிழ் மொழி", ["தமிழ்", "மொழி"]),
        ("বাংলা ভাষা", ["বাংলা", "ভাষা"]),
        ("party 🎉 time", ["party", "time"]),
        ("12,500 euros", ["12", "500", "euros"]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("no names", ["no", "names"]),
        ("PaymentGateway x", ["paymentgateway", "x", "payment", "gateway"]),
        ("XMLParser of PDFs", ["xmlparser", "of", "pdfs", "xml", "parser"]),
        ("myIPhone IDs", ["myiphone", "ids", "phone"]),
        ("CartTotal: a CartTotal of totalCost", [
            "carttotal", "a", "carttotal", "of", "totalcost", "cart", "total", "cost",
        ]),
        ("a cart in CartRow", ["a", "cart", "in", "cartrow", "row"]),
        ("12,500 euros", ["12", "500", "euros", "12500"]),
        ("CHF 1’234’567.50", ["chf", "1", "234", "567", "50", "1234567"]),
        ("5,2026 10.1.1,200", ["5", "2026", "10", "1", "1", "200"]),
        ("用CartRow", ["用", "cartrow", "cart", "row"]),
        ("MüllerKonto", ["mullerkonto", "muller", "konto"]),
    ],
)  # fmt: skip
def test_a_text_is_indexed_by_the_words_inside_its_names(text: str, expected: list[str]) -> None:
    assert indexed_words(text) == expected
    assert indexed_words(text, words(text)) == expected


def test_encoded_data_is_not_split() -> None:
    data = "aGVsbG8" * 10
    assert indexed_words(data) == [data.lower()]


def test_stems_by_script() -> None:
    assert terms("walking walked walks") == ["walk"] * 3
    assert stem("москве") == stem("москвы")
    assert len(set(terms("новый новая новое новые"))) == 1
    assert stem("東京") == "東京"
    assert terms("कहानियाँ कहानी")[0] == terms("कहानियाँ कहानी")[1]


def test_term_ids_are_the_hashes_of_the_stems() -> None:
    tokens = words("The walking Cafés of 東京 walk")
    assert term_ids(tokens).tolist() == [term_id(stem(word)) for word in tokens]
    assert term_ids([]).tolist() == []
    assert all(0 <= number < 2**40 for number in term_ids(tokens).tolist())


def test_term_ids_are_the_same_in_every_process() -> None:
    code = (
        "from salience.language.tokens import term_ids, words; "
        "print(term_ids(words('Café walks 東京')))"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "424242")
    }
    assert answers == {f"{term_ids(words('Café walks 東京'))}\n"}
    # Never to be changed, as the stores keep them: blake2b("cafe", 5 bytes), big-endian.
    assert term_id("cafe") == 0x2FE4E73EE5
    assert term_id("walk") == 0x92D62B05D3


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("Cedrci Hurst", "Cedric Hurst", 0.625),
        ("Cedrci", "Cedric Hurst", 0.25),
        ("Jeff", "Jeff Nee", 0.5556),
        ("ŠKODA", "škoda", 1.0),
        ("STRASSE", "Straße", 1.0),
        ("ΣΊΣΥΦΟΣ", "Σίσυφος", 1.0),
        ("Spantreee", "Spantree", 0.9),
        ("Sarah", "Sarah Chen", 0.5455),
        ("John's iPhone", "John Smith", 0.3158),
        ("山田", "山田太郎", 0.3333),
        ("", "x", 0.0),
    ],
)
def test_trigram_similarity_is_that_of_postgresql(left: str, right: str, expected: float) -> None:
    similarity = trigram_similarity(trigrams(left), trigrams(right))
    assert round(similarity, 4) == expected
    assert trigram_similarity(trigrams(right), trigrams(left)) == similarity


def test_trigrams_by_hand() -> None:
    assert trigrams("cat") == {"  c", " ca", "cat", "at "}
    assert trigrams("Cat  CAT") == trigrams("cat")
    assert trigrams("a-b") == {"  a", " a ", "  b", " b "}
    assert trigrams("?!") == frozenset()
    # {"  c", " ca", "cat", "at "} and {"  c", " ca", "car", "ar "}: 2 shared of 6 in all
    assert trigram_similarity(trigrams("cat"), trigrams("car")) == 2 / 6
    assert trigram_similarity(trigrams("cat"), trigrams("dog")) == 0.0
    assert trigram_similarity(frozenset(), frozenset()) == 0.0


@given(st.text(), st.text())
def test_trigram_similarity_is_between_0_and_1(left: str, right: str) -> None:
    similarity = trigram_similarity(trigrams(left), trigrams(right))
    assert 0.0 <= similarity <= 1.0
    assert (similarity == 1.0) == (trigrams(left) == trigrams(right) != frozenset())


def test_long_words_are_not_kept() -> None:
    long_words = [f"{letter}{number:0200}" for letter in "ABCD" for number in range(1_000)]
    term_ids(["warm"])
    tracemalloc.start()
    try:
        for word in long_words:
            term_ids([word.lower()])
            term_id(f"{word} ")
            fold_name(word)
            RULES.extract(f"With {word}")
        kept_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept_bytes < 100_000  # of 800,000


@pytest.mark.parametrize("word", ["running", "running" * 20, "Ærø" * 30])
def test_a_word_is_the_same_each_time(word: str) -> None:
    [low] = words(word)
    assert stem(low) == stem(low)
    assert term_ids([low, low]).tolist() == [term_id(stem(low))] * 2
    assert fold_name(word) == fold_name(word) == low


def test_a_character_that_folds_to_many_is_read_in_part() -> None:
    assert sum(map(len, words("\ufdfa" * 1_000))) <= 4_000


def test_many_long_ligatures_fold_to_their_first_words() -> None:
    ligature = "\ufdfa"
    text = ligature * 20_000
    assert len(fold(ligature)) == 18
    assert len(fold(text)) <= 4 * len(text)
    assert text_key(text) != text_key(text[1:])
