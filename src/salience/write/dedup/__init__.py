"""Deduplication: facts about to be written are compared with existing ones and each other."""

from salience.write.dedup.verdicts import (
    DUPLICATE_COSINE,
    MAX_LOOP_SECONDS,
    MAX_WITHIN,
    NO_DEDUP,
    STRENGTHENING,
    DedupLike,
    DedupPolicy,
    DedupVerdict,
    judge,
)

__all__ = [
    "DUPLICATE_COSINE",
    "MAX_LOOP_SECONDS",
    "MAX_WITHIN",
    "NO_DEDUP",
    "STRENGTHENING",
    "DedupLike",
    "DedupPolicy",
    "DedupVerdict",
    "judge",
]
