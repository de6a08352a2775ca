"""What was found, counted; a table of it at the end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

COLUMNS = ("attack", "rounds", "acknowledged", "lost", "half", "foreign errors", "slow", "seed")
_SHOWN = 20  # findings of one attack


@dataclass(slots=True)
class Tally:
    """The counts of one attack; `findings` say what went wrong, shortest first."""

    attack: str
    seed: int
    rounds: int = 0
    acknowledged: int = 0
    lost: int = 0
    half: int = 0
    foreign: int = 0
    slow: int = 0
    findings: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        """True if nothing went wrong."""
        return not (self.lost or self.half or self.foreign or self.slow or self.findings)

    def report(self, kind: str, text: str) -> None:
        """Count something that went wrong: lost, half, foreign, slow, or anything else."""
        if kind in ("lost", "half", "foreign", "slow"):
            setattr(self, kind, getattr(self, kind) + 1)
        self.findings.append(f"{kind}: {text}")

    def row(self) -> tuple[str, ...]:
        """Its line of the table."""
        counts = (self.rounds, self.acknowledged, self.lost, self.half, self.foreign, self.slow)
        return (self.attack, *(f"{count:,}" for count in counts), str(self.seed))


def table(tallies: Iterable[Tally]) -> str:
    """The table of several attacks, and below it what went wrong."""
    kept = list(tallies)
    rows = [COLUMNS, *(tally.row() for tally in kept)]
    widths = [max(len(row[n]) for row in rows) for n in range(len(COLUMNS))]
    lines = [
        "  ".join(
            cell.ljust(width) if n == 0 else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    for tally in kept:
        lines += [f"{tally.attack}: {text}" for text in sorted(tally.findings, key=len)[:_SHOWN]]
    return "\n".join(lines)
