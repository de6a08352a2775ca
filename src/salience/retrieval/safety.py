"""Results of backing a store up, and of looking at its health."""

from __future__ import annotations

from salience.display.result import Result
from salience.lazily import dataclass

STRUCTURE = "structure"
"""The check of a finding that keeps all else from being read."""

NO_FILE = (
    "back up PostgreSQL with pg_dump and restore it with pg_restore; "
    "`salience export --all` and `import --all` move memories between any stores"
)
"""The remedy for stores that are not a file."""

QUARANTINE_END = ".damaged.jsonl"
"""The end of the name of the file to which the doctor moves damaged rows."""


@dataclass(frozen=True, repr=False)
class Backup(Result):
    """A copy of a whole store: the file, the number of its memories, and its size in bytes.

    Of a backup that was restored, `erased_again` are the memories that were erased after it was
    made, and are not in the copy; `note` says what else of these erasures is to be done.
    """

    path: str
    memories: int
    bytes: int
    erased_again: int = 0
    note: str = ""


@dataclass(frozen=True, repr=False)
class Finding(Result):
    """Something that is wrong with a store.

    `check` is what was looked at, `count` how much of it is wrong, `examples` are some of it, and
    `remedy` says what to do. `fixed` is true if it has been mended, `harmless` if no answer depends
    on it.
    """

    _shown = ("check", "problem", "count", "fixed")

    check: str
    problem: str
    count: int = 1
    examples: tuple[str, ...] = ()
    remedy: str = ""
    fixed: bool = False
    harmless: bool = False

    def __str__(self) -> str:
        state = "fixed" if self.fixed else self.remedy
        examples = f" ({', '.join(self.examples)})" if self.examples else ""
        return f"{self.check}: {self.problem}{examples}" + (f"; {state}" if state else "")
