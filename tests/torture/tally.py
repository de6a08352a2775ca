"""What was found, counted; a table of it at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

COLUMNS = ("attack", "rounds", "acknowledged", "lost", "half", "foreign errors", "slow", "seed")
_SHOWN = 100  # findings of one attack


@dataclass(slots=True)
class Tally:
    """The counts of one attack; `findings` has what went wrong: the first of each kind and place,
    and `times` how many there were of it.
    """

    attack: str
    seed: int
    rounds: int = 0
    acknowledged: int = 0
    lost: int = 0
    half: int = 0
    foreign: int = 0
    slow: int = 0
    findings: dict[str, str] = field(default_factory=dict)
    times: Counter[str] = field(default_factory=Counter)

    def __bool__(self) -> bool:
        """True if nothing went wrong."""
        return not (self.lost or self.half or self.foreign or self.slow or self.findings)

    def report(self, kind: str, text: str, place: str = "") -> None:
        """Count something that went wrong: lost, half, foreign, slow, or anything else.

        Findings of one kind at one `place` are listed once; without a place, each is.
        """
        if kind in ("lost", "half", "foreign", "slow"):
            setattr(self, kind, getattr(self, kind) + 1)
        alike = f"{kind}: {place or text}"
        self.times[alike] += 1
        self.findings.setdefault(alike, f"{kind}: {text}")

    def listed(self) -> list[str]:
        """What went wrong, a line for each kind and place: how often, where, the first of them."""
        lines = []
        for alike, first in sorted(self.findings.items(), key=lambda finding: len(finding[1])):
            place = "" if first == alike else f" at {alike.partition(': ')[2]}"
            lines.append(f"{self.times[alike]:,} times{place}, {first}")
        return lines

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
        lines += [f"{tally.attack}: {line}" for line in tally.listed()[:_SHOWN]]
    return "\n".join(lines)
