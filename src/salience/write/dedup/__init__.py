"""Deduplication: facts about to be written are compared with existing ones and each other."""

from salience.write.dedup.verdicts import (
    DUPLICATE_COSINE,
    NO_DEDUP,
    STRENGTHENING,
    DedupLike,
    DedupPolicy,
    DedupVerdict,
    judge,
)

__all__ = [
    "DUPLICATE_COSINE",
    "NO_DEDUP",
    "STRENGTHENING",
    "DedupLike",
    "DedupPolicy",
    "DedupVerdict",
    "judge",
]
