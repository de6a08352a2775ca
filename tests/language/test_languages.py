"""Tables of cues, and which language a text is in."""

from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience.language.dates import past_interval
from salience.language.features import FEATURES, features
from salience.language.languages import ENGLISH, LANGUAGES, language_of, language_of_code
from salience.language.languages.table import (
    ATTRIBUTES,
    CUE_NAMES,
    SCRIPTS,
    Cue,
    Language,
    script_of,
    state_number,
    writing,
)
from salience.language.query_analysis import analyze_query
from salience.language.tokens import fold, terms, unified, without_bigrams, words
from support.scoring import NOW

_NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)

TABLES = [*map(language_of_code, LANGUAGES), ENGLISH]
CUES = [
    pytest.param(language, kind, name, cue, id=f"{language.code}-{name}")
    for language in TABLES
    for kind, cues in (("cue", language.cues), ("state", language.states))
    for name, cue in cues.items()
]
NATURAL = ("de", "fr", "es", "pt", "it", "zh", "ja", "ko", "ru")


@pytest.mark.parametrize(("language", "kind", "name", "cue"), CUES)
def test_a_cue_catches_its_example_and_not_its_counterexample(
    language: Language, kind: str, name: str, cue: Cue
) -> None:
    for text, expected in ((cue.catches, True), (cue.must_not_catch, False)):
        assert unified(text) == fold(text)
        if kind == "cue":
            assert language.matches(name, fold(text)) is expected  # type: ignore[arg-type]
        else:
            alone = Language("xx", "", frozenset(), {}, {name: cue}, is_spaced=language.is_spaced)  # type: ignore[dict-item]
            assert (alone.state(fold(text)) is not None) is expected


@pytest.mark.parametrize("code", NATURAL)
def test_a_table_is_whole(code: str) -> None:
    language = language_of_code(code)
    missing = {"asks_name"} if code == "de" else set()  # every noun of German has a capital
    assert set(CUE_NAMES) - set(language.cues) == missing
    assert set(ATTRIBUTES) == set(language.states)
    assert language.stop_words
    assert all(word == fold(word) or not language.is_spaced for word in language.stop_words)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Wo wohnst du jetzt?", "de"),
        ("Wann kommt der Zug an?", "de"),
        ("Où habites-tu maintenant ?", "fr"),
        ("Combien de sucre faut-il ?", "fr"),
        ("¿Dónde está la farmacia?", "es"),
        ("Onde fica a farmácia?", "pt"),
        ("Dove si trova la farmacia?", "it"),
        ("Hoeveel katten heeft Anna?", "nl"),
        ("Где находится аптека?", "ru"),
        ("药店在哪里？", "zh"),
        ("藥店在哪裡？", "zh"),
        ("薬局はどこですか", "ja"),
        ("약국이 어디에 있어요?", "ko"),
        ("Where is the pharmacy?", None),
        ("We met last week.", None),
        ("Mia and Van Gogh, die hard", None),
        ("What did 王芳 say about the trip to Lyon?", None),
        ("Πού είναι το φαρμακείο;", None),
        ("", None),
        ("12 500", None),
    ],
)
def test_the_language_of_a_text(text: str, code: str | None) -> None:
    language = language_of(without_bigrams(words(text)))
    assert (language and language.code) == code


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hello world", ("latin", 0.0)),
        ("2026", ("latin", 0.0)),
        ("我在zalando", ("han", 2 / 3)),
        ("привет мир", ("cyrillic", 1.0)),
        ("한국어", ("hangul", 1.0)),
        ("ο ναός", ("greek", 1.0)),
    ],
)
def test_the_scripts_of_a_text(text: str, expected: tuple[str, float]) -> None:
    place, share = writing(without_bigrams(words(text)))
    assert (SCRIPTS[place], share) == expected


@given(st.characters())
def test_every_character_has_a_script(character: str) -> None:
    assert script_of(character) in SCRIPTS


@given(st.text())
def test_folding_twice_changes_nothing_more(text: str) -> None:
    assert unified(unified(text)) == unified(text)
    assert words(fold(text)) == words(text)


@given(st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E)))
def test_full_width_forms_are_equal_to_half_width_ones(text: str) -> None:
    wide = "".join(chr(ord(character) + 0xFEE0) for character in text)
    assert terms(wide) == terms(text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("我們搬到臺灣的圖書館旁邊", "我们搬到台湾的图书馆旁边"),
        ("ｱﾝﾅはﾃﾆｽが好き", "アンナはテニスが好き"),
        ("ＡＢＣ１２３", "abc123"),
        ("Straße", "STRASSE"),
        ("żółć München", "żołc MUNCHEN"),
    ],
)
def test_forms_of_one_text_have_the_same_terms(one: str, other: str) -> None:
    assert terms(one) == terms(other)


def _feature(text: str, name: str) -> float:
    return dict(zip(FEATURES, features(text, words(text)), strict=True))[name]


@pytest.mark.parametrize(
    ("first", "third", "state"),
    [
        ("Ich bin letztes Jahr nach Lyon gezogen.", "Ana ist nach Lyon gezogen.", "residence"),
        ("Je travaille depuis peu chez Nokia.", "Ana travaille chez Nokia.", "employer"),
        ("Ahora vivo cerca del puerto.", "Ahora Ana vive cerca del puerto.", "residence"),
        ("Agora moro perto do porto.", "Agora Ana mora perto do porto.", "residence"),
        ("Adesso abito vicino al porto.", "Adesso Ana abita vicino al porto.", "residence"),
        ("Теперь я живу у моря.", "Теперь Анна живёт у моря.", "residence"),
        ("我上个月搬到海边了。", "安娜上个月搬到海边了。", "residence"),
        ("先月、海の近くに引っ越しました。", "アンナは海の近くに引っ越しました。", "residence"),
        ("나는 지난달에 바닷가로 이사했다.", "안나 씨는 바닷가로 이사했다.", "residence"),
    ],
)
def test_a_state_is_of_who_says_it_or_of_somebody_else(first: str, third: str, state: str) -> None:
    assert _feature(first, "state") == state_number(state)
    assert _feature(third, "state") == -state_number(state)


def test_a_state_in_english_is_of_who_says_it() -> None:
    assert _feature("I have moved to a flat in Lyon.", "state") == state_number("residence")
    assert _feature("Ana has moved to a flat in Lyon.", "state") == 0.0
    assert _feature("My favourite colour is green.", "state") == state_number("favourite colour")


@given(st.text())
def test_the_number_of_a_state_is_kept_exactly(attribute: str) -> None:
    number = state_number(attribute)
    assert 0 < number < 2**24


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("我现在住在哪里？", {"住", "住在"}),
        ("Wo wohnt Katja jetzt?", {"wohnt", "katja"}),
        ("¿Cuándo llega el tren?", {"llega", "tren"}),
        ("Когда приходит поезд?", {"приход", "поезд"}),
    ],
)
def test_question_words_are_not_looked_for(text: str, kept: set[str]) -> None:
    analysis = analyze_query(text, {}, now=NOW)
    assert {term[0] for term in analysis.terms} <= kept


@pytest.mark.parametrize(
    ("question", "memory"),
    [
        ("Habe ich bei jemandem Schulden?", "Ich schulde Tomas 35 Euro."),
        ("Wann kann ich wieder deployen?", "Freitags wird nicht deployt."),
        ("Welche Ausfälle hatten wir?", "Der Ausfall im Mai kam von einem Zertifikat."),
        ("Wat heb ik voor de kinderen gekocht?", "De kinderen kregen gekochte eieren."),
        ("Est-ce que je peux déployer ?", "On ne déploie plus."),
        ("Où habitaient mes parents ?", "Mon père habite à Lyon."),
        ("¿Qué instrumentos tocaban mis hermanas?", "Mi hermana toca el piano."),
        ("Quali strumenti suonavano le mie sorelle?", "Mia sorella suona il piano."),
        ("Que instrumentos tocavam as minhas irmãs?", "A minha irmã toca piano."),
    ],
)
def test_a_word_of_a_question_finds_its_other_forms(question: str, memory: str) -> None:
    forms = {form for term in analyze_query(question, {}, now=NOW).terms for form in term}
    assert not forms.isdisjoint(terms(memory))


def test_a_form_is_no_stop_word() -> None:
    [eat] = analyze_query("¿Dónde me gusta comer con mi hermana?", {}, now=NOW).terms[1:2]
    assert "comemo" in eat  # comemos
    assert "como" not in eat  # as well as "I eat", it is "how"


@pytest.mark.parametrize(
    "text",
    [
        "Wo habe ich früher gearbeitet?",
        "Où est-ce que j'habitais avant ?",
        "¿Dónde trabajaba antes?",
        "Onde eu morava antes?",
        "Dove lavoravo prima?",
        "Где я раньше работала?",
        "我以前在哪里工作？",
        "以前はどこで働いていましたか？",
        "나는 예전에 어디에서 일했어?",
    ],
)
def test_a_question_about_former_times_is_about_the_past(text: str) -> None:
    past = past_interval(text, _NOW)
    assert past is not None
    assert past[0] == float("-inf")
    assert analyze_query(text, {}, about=past, now=NOW).features["query_asks_state"]
