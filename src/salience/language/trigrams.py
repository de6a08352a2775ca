"""Text to terms: words folded and stemmed, unspaced scripts as character bigrams, terms as hashes.

A term is the stem of a word. Word stems come from the Snowball stemmer of the word's script
(Porter, 1980, for Latin script), so no language has to be declared; scripts written without
spaces (Han, Kana, Hangul syllables, Thai, Lao, Khmer, Myanmar) give overlapping bigrams, and
those whose single characters may be words (Han, Kana, Hangul) the characters as well. What is
kept of a text has the words inside its names and its figures in one, too (`indexed_words`).
"""

from __future__ import annotations

from salience.language.tokens import _WORD


def trigrams(text: str) -> frozenset[str]:
    """The trigrams of a text as pg_trgm takes them.

    Each word (a run of letters and digits, lower case) is padded with two spaces before and one
    after, and gives every three-character window.

    Source: PostgreSQL 18 documentation, appendix F.35, pg_trgm.
    """
    found: set[str] = set()
    for word in _WORD.findall(text.lower()):
        padded = f"  {word} "
        found.update(padded[i : i + 3] for i in range(len(padded) - 2))
    return frozenset(found)


def trigram_similarity(left: frozenset[str], right: frozenset[str]) -> float:
    """|A n B| / |A u B| of two trigram sets, 0 when either is empty; in [0, 1] (pg_trgm)."""
    shared = len(left & right)
    return shared / (len(left) + len(right) - shared) if shared else 0.0
