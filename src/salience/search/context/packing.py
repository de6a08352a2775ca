"""Packing: which memories fit, whole or cut, so that the whole text never exceeds its budget.

    tokens(text with all sections) <= max_tokens, counted on the very text that is given

A section costs what the text grows by when it is added, so that what sections cost adds up to the
whole however the counter counts. Sections are packed by priority, each within its own budget and
what those before it left of theirs; a section without a budget takes all that is not held back for
later ones, and only as much is held back for a section as it could fill.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from salience.errors import InvalidInput, shown
from salience.search.context.formats import Block, Format, Piece, write
from salience.search.context.sections import Gathered, Item, Section

_LEAST = 24  # characters; less of a memory than that says nothing


@dataclass(frozen=True, slots=True)
class Packed:
    """A block, what it costs, how much it was allowed, and how many memories found no room."""

    block: Block
    tokens: int
    allowed: int
    without_room: int


class Packing:
    """The text as it grows."""

    def __init__(
        self,
        gathered: Sequence[Gathered],
        max_tokens: int,
        format: Format,
        counter: Callable[[str], int],
        references: bool,
    ) -> None:
        self.gathered = gathered
        self.max_tokens = max_tokens
        self.format: Format = format
        self.counter = counter
        self.references = references
        self.pieces: dict[str, tuple[Piece, ...]] = {each.section.name: () for each in gathered}
        self.taken: set[tuple[str, str]] = set()
        self.said: set[str] = set()
        self.tokens = self.count("")
        if self.tokens > max_tokens:
            raise InvalidInput(
                "max_tokens", f"is {max_tokens}, and nothing at all counts as {self.tokens}"
            )

    def count(self, text: str) -> int:
        """What the counter says of a text; InvalidInput unless that is a count."""
        found = self.counter(text)
        if isinstance(found, bool) or not isinstance(found, int) or found < 0:
            raise InvalidInput(
                "counter", f"gave {shown(found)}", "it has to give whole numbers from 0"
            )
        return found

    def blocks(self, pieces: Mapping[str, tuple[Piece, ...]] | None = None) -> list[Block]:
        """The sections in their order, with the pieces they hold."""
        held = self.pieces if pieces is None else pieces
        return [Block(each.section, held.get(each.section.name, ())) for each in self.gathered]

    def text(self, pieces: Mapping[str, tuple[Piece, ...]] | None = None) -> str:
        """The text of some pieces, or of all that were packed."""
        return write(self.blocks(pieces), self.format, self.references)

    def pack(self) -> list[Packed]:
        """Pack every section by priority; what became of each, in the order of the text.

        Raises:
            InvalidInput: a section that has to be whole does not fit; names what it needs.
        """
        order = sorted(self.gathered, key=lambda each: -each.section.priority)
        budgets = self._budgets()
        held = {each.section.name: self._needed(each, budgets[each.section.name]) for each in order}
        spare = 0
        found: dict[str, Packed] = {}
        for each in order:
            name = each.section.name
            held[name] = 0
            allowed = self.max_tokens - self.tokens - sum(held.values())
            budget = budgets[name]
            if budget is not None:
                allowed = min(allowed, budget + spare)
            before = self.tokens
            without_room = self._fill(each, before + allowed)
            cost = self.tokens - before
            if budget is not None:
                spare = max(budget + spare - cost, 0)
            found[name] = Packed(
                Block(each.section, self.pieces[name]), cost, allowed, without_room
            )
        return [found[each.section.name] for each in self.gathered]

    def _budgets(self) -> dict[str, int | None]:
        """The budget of every section in tokens; together they are no more than there is."""
        found = {
            each.section.name: _tokens(each.section, self.max_tokens) for each in self.gathered
        }
        total = sum(budget for budget in found.values() if budget is not None)
        if total > self.max_tokens:
            raise InvalidInput(
                "sections", f"have budgets of {total} tokens of {self.max_tokens}", "lower them"
            )
        return found

    def _needed(self, each: Gathered, budget: int | None) -> int:
        """What to hold back for a section: its budget, but not more than it could fill."""
        if budget is None or not each.items:
            return 0
        everything = tuple(Piece(item, item.record.content) for item in each.items)
        alone = self.count(self.text({each.section.name: everything})) - self.count("")
        # Beside others it also costs a gap, and a token where the counter rounds.
        return max(0, min(budget, alone + self.count("\n\n") + 1))

    def _fill(self, each: Gathered, most: int) -> int:
        """Put in what fits while the text stays within `most`; how many memories found no room."""
        most = min(most, self.max_tokens)
        fresh = [item for item in each.items if not self._known(item)]
        for at, item in enumerate(fresh):
            if self._known(item):  # the same words twice in one section
                continue
            if self._put(each.section, Piece(item, item.record.content), most):
                continue
            if each.section.whole:
                raise self._too_long(each.section, fresh, most)
            cut = self._put_cut(each.section, item, most)
            return len(fresh) - at - cut
        return 0

    def _known(self, item: Item) -> bool:
        return item.key in self.taken or _words(item) in self.said

    def _put(self, section: Section, piece: Piece, most: int) -> bool:
        """Whether a piece fits; if it does, it is in."""
        pieces = {**self.pieces, section.name: (*self.pieces[section.name], piece)}
        tokens = self.count(self.text(pieces))
        if tokens > most:
            return False
        self.pieces, self.tokens = pieces, tokens
        self.taken.add(piece.item.key)
        self.said.add(_words(piece.item))
        return True

    def _put_cut(self, section: Section, item: Item, most: int) -> bool:
        """Put in as much of a memory as fits, marked; whether any of it did."""
        content = item.record.content
        low, high = _LEAST, len(content) - 1
        best: Piece | None = None
        while low <= high:
            middle = (low + high) // 2
            piece = self._cut(item, middle)
            pieces = {**self.pieces, section.name: (*self.pieces[section.name], piece)}
            if self.count(self.text(pieces)) <= most:
                best, low = piece, middle + 1
            else:
                high = middle - 1
        return best is not None and self._put(section, best, most)

    def _cut(self, item: Item, length: int) -> Piece:
        """The beginning of a memory, up to a length, and to the end of a word if there is one."""
        content = item.record.content
        kept = content[:length]
        if not content[length].isspace():
            whole_words = kept.rpartition(" ")[0]
            kept = whole_words if len(whole_words) >= _LEAST // 2 else kept
        kept = kept.rstrip()
        return Piece(item, kept, max(1, self.count(content) - self.count(kept)))

    def _too_long(self, section: Section, items: Sequence[Item], most: int) -> InvalidInput:
        pieces = tuple(Piece(item, item.record.content) for item in items)
        before = {**self.pieces, section.name: ()}
        base = self.count(self.text(before))
        needed = self.count(self.text({**before, section.name: pieces})) - base
        room = max(most - base, 0)
        return InvalidInput(
            "max_tokens",
            f"the section {shown(section.name)} is never cut and takes {needed} tokens, and "
            f"{room} are free for it",
            f"give {needed - room} more, or shorten its memories",
        )


def _tokens(section: Section, max_tokens: int) -> int | None:
    if isinstance(section.budget, float):
        return int(section.budget * max_tokens)
    return section.budget


def _words(item: Item) -> str:
    return " ".join(item.record.content.casefold().split())
