"""Texts that repeat what was recalled are found without reading all of it word for word."""

from hypothesis import given
from hypothesis import strategies as st

from salience.write.dedup.contradictions import _folded, _said, _words_needed, repeated_memory

_PIECES = st.sampled_from(
    "Ana, keeps the KEY. ΟΔΟΣ; ΟΔΟΣ's İstanbul Straße “quoted” ｗｉｄｅ 5 mW !x >=3 id_rsa.pub "
    "é e\u0301 I recall that - 東京。 yes, yes… \u200b don’t 1, 5 .. ﬁne 🍎🍐 Wait?! א ב".split(" ")
)


@given(st.lists(_PIECES | st.text(max_size=6), max_size=30).map(" ".join))
def test_no_sentence_of_a_text_is_thought_missing_from_it(text: str) -> None:
    folded = _folded(text)
    assert all(word in folded for sentence in _said(text) for word in _words_needed(sentence))


def test_the_memory_that_says_most_of_it_is_repeated() -> None:
    recalled = {
        "key": "Ana keeps the key under the pot. The pot is blue.",
        "cello": "Ben plays the cello.",
        "half": "The pot is blue.",
    }
    assert (
        repeated_memory("I recall that Ana keeps the key under the pot. The pot is blue!", recalled)
        == "key"
    )
    assert repeated_memory("The pot is blue. Ben plays the cello.", recalled) == "key"
    assert repeated_memory("Ana keeps the pot under the key. The blue pot is.", recalled) is None
