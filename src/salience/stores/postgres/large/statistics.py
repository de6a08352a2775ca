"""Figures of a whole namespace: what an index in memory would count, as noted on the server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from salience.language.passages import LONG_WORDS, PASSAGE_WORDS
from salience.lazily import dataclass, field
from salience.records.fields import LEXICAL
from salience.stores.tables.commands import Send, Statement

STATISTICS = "statistics"  # the key of the note
WORD_INDEX = "#terms"  # the name of the tally of the index over terms
FREQUENT_SHARE = 500  # a term of more than one memory in so many is noted with their number
TERMS = (
    "string_to_array(rtrim(regexp_replace(encode("
    + " || ".join(f"coalesce(w.{name}, ''::bytea)" for name in LEXICAL)
    + r", 'hex'), '(.{16})', '\1 ', 'g')), ' ')"
)
"""The terms of a row `w` of `words` as an array of texts, see `term_key`; what is indexed."""
_SELECT_GREETINGS = """
WITH sessions AS (
    SELECT m.session_id, array_agg(DISTINCT m.speaker) AS voices
    FROM memories m
    WHERE m.namespace = %s AND m.session_id IN (
        SELECT session_id FROM memories WHERE namespace = %s AND greets IS NOT NULL
    )
    GROUP BY m.session_id
)
SELECT m.greets, CASE WHEN voices[1] IS NOT DISTINCT FROM m.speaker THEN voices[2]
    ELSE voices[1] END, count(*)
FROM memories m JOIN sessions USING (session_id)
WHERE m.namespace = %s AND m.greets IS NOT NULL AND cardinality(voices) = 2
GROUP BY 1, 2
"""


def term_key(term: int) -> str:
    """A term as `TERMS` has it."""
    return term.to_bytes(8, "little").hex()


@dataclass(frozen=True)
class Statistics:
    """Words of each field, memories (a long one counted by its passages), and frequent terms.

    `speakers` says how many memories each said, `greetings` how often each name was said to whom.
    All are as of their computation, for rows up to `counter`.
    """

    counter: int = 0
    living: int = 0
    speakers: Mapping[str, int] = field(default_factory=dict)
    documents: int = 0
    words: Mapping[str, int] = field(default_factory=dict)
    frequencies: Mapping[str, int] = field(default_factory=dict)
    greetings: Mapping[str, Mapping[str | None, int]] = field(default_factory=dict)

    @staticmethod
    @lru_cache(maxsize=16)
    def of(noted: str | None) -> Statistics:
        """Those of a note; none for None."""
        if noted is None:
            return Statistics()
        values: dict[str, Any] = json.loads(noted)
        greetings: dict[str, dict[str | None, int]] = {}
        for name, speaker, count in values.pop("greetings"):
            greetings.setdefault(name, {})[speaker] = count
        return Statistics(**values, greetings=greetings)


def select_speakers(namespace: str, after: int) -> Statement:
    """Count the memories behind a row that each speaker said."""
    return Statement(
        'SELECT speaker, count(*) FROM memories WHERE namespace = %s AND "row" > %s '
        "AND speaker <> '' GROUP BY speaker",
        (namespace, after),
    )


def make_statistics(namespace: str, send: Send) -> None:
    """Recount, and note it."""
    sums = ", ".join(f"coalesce(sum(octet_length({name})), 0)::bigint / 8" for name in LEXICAL)
    words = f"octet_length(content) / 8 >= {LONG_WORDS}"
    [[[counter]], [counted], frequent, speakers, greetings] = send(
        Statement("SELECT counter FROM spaces WHERE namespace = %s", (namespace,)),
        Statement(
            f"SELECT count(*), coalesce(sum(CASE WHEN {words} THEN ceil(octet_length(content) / "
            f"{8.0 * PASSAGE_WORDS}) ELSE 1 END), 0)::bigint, {sums} FROM words "
            "WHERE namespace = %s",
            (namespace,),
        ),
        Statement(
            "SELECT term, count(*) FROM words w CROSS JOIN LATERAL "
            f"(SELECT DISTINCT unnest({TERMS}) AS term) AS own WHERE w.namespace = %s "
            "AND term <> '' GROUP BY term HAVING count(*) > "
            f"(SELECT living / {FREQUENT_SHARE} FROM spaces WHERE namespace = %s)",
            (namespace, namespace),
        ),
        select_speakers(namespace, 0),
        Statement(_SELECT_GREETINGS, (namespace,) * 3),
    )
    living, documents, *lengths = counted
    noted = {
        "counter": counter,
        "living": living,
        "speakers": dict(speakers),
        "documents": documents,
        "words": dict(zip(LEXICAL, lengths, strict=True)),
        "frequencies": dict(frequent),
        "greetings": [list(each) for each in greetings],
    }
    send(
        Statement(
            "INSERT INTO notes (namespace, key, value) SELECT namespace, %s, %s FROM spaces WHERE "
            "namespace = %s ON CONFLICT (namespace, key) DO UPDATE SET value = excluded.value",
            (STATISTICS, json.dumps(noted), namespace),
        )
    )
