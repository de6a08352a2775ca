"""The console of the command line, on which no text of a memory acts."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from salience.display.terminal import visible


class Terminal(Console):
    """A console that prints each text as `visible` gives it, whatever it is part of."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            text, style, control = segment
            yield segment if control else Segment(visible(text), style)
