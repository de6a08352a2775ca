"""HTML of results: a page of its own or a part of a notebook; no script, every text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Protocol

from salience.display.result import Result
from salience.lazily import dataclass

_MEMORY_CHARACTERS = 400  # of a text in a table
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


@dataclass(frozen=True, repr=False)
class HtmlResult(Result):
    """The base of results that a notebook shows as HTML, and that `to_html` gives as a page."""

    def to_html(self) -> str:
        """One HTML page that needs nothing else."""
        return page(self._title(), self._sections())

    def _repr_html_(self) -> str:
        return part(self._sections())

    def _title(self) -> str:
        return type(self).__name__

    def _sections(self) -> Iterable[str]:
        raise NotImplementedError


class TableMemory(Protocol):
    """The fields of a memory that a table shows."""

    @property
    def id(self) -> str: ...
    @property
    def content(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def speaker(self) -> str | None: ...
    @property
    def created_at(self) -> datetime: ...


def page(title: str, sections: Iterable[str]) -> str:
    """A page of sections."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{text(title)}</title>\n<style>\n{_style()}</style>\n</head>\n"
        '<body class="salience">\n<main>\n' + "\n".join(sections) + "\n</main>\n</body>\n</html>\n"
    )


def part(sections: Iterable[str]) -> str:
    """The sections as a part of another page, with styles that leave the rest of it alone."""
    return (
        f'<div class="salience">\n<style>\n{_style()}</style>\n<main>\n'
        + "\n".join(sections)
        + "\n</main>\n</div>"
    )


@cache
def _style() -> str:
    from importlib.resources import files  # needed only where something is shown

    return files("salience.display").joinpath("style.css").read_text(encoding="utf-8")


def text(value: object) -> str:
    """A value as text, escaped; lone surrogates become "?"."""
    from html import escape  # needed only where something is shown

    return escape(str(value).encode("utf-8", "replace").decode("utf-8"))


def header(title: str, notes: Iterable[str]) -> str:
    """The head of a page: its title, and notes on it."""
    line = text(" · ".join(notes))
    return f'<header>\n<h1>{text(title)}</h1>\n<p class="soft">{line}</p>\n</header>'


def section(title: str, body: str) -> str:
    """A section under its title, if it has one."""
    heading = f"<h2>{text(title)}</h2>\n" if title else ""
    return f"<section>\n{heading}{body}\n</section>"


def nothing(words: str) -> str:
    """A section that says there is nothing."""
    return section("", f'<p class="soft">{text(words)}</p>')


def facts(values: Mapping[str, object]) -> str:
    """A table of names and values."""
    return table(("field", "value"), ((text(name), text(each)) for name, each in values.items()))


def memory_cell(memory: TableMemory) -> str:
    """The beginning of a memory's text, and below it its speaker or kind, its time and its id."""
    passages = getattr(memory, "passages", ())
    content = f"… {passages[0].text}" if passages and passages[0].start else memory.content
    line = " ".join(content.split())
    excerpt = line if len(line) <= _MEMORY_CHARACTERS else f"{line[: _MEMORY_CHARACTERS - 1]}…"
    origin = f"{text(memory.speaker or memory.kind)} · {memory.created_at:%Y-%m-%d %H:%M}"
    origin += f" · <code>{text(memory.id)}</code>"
    return f'<div class="memory">{text(excerpt)}<div class="soft">{origin}</div></div>'


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    numbers: Sequence[int] = (),
    *,
    stacked: bool = False,
) -> str:
    """A table of cells that are HTML already; the columns at `numbers` are aligned to the right.

    With `stacked`, the cells of a row stand below each other where room is short.
    """
    names = [text(name) for name in head]
    top = "".join(_cell("th", at in numbers, name) for at, name in enumerate(names))
    lines = (
        "".join(_cell("td", at in numbers, cell, names[at]) for at, cell in enumerate(row))
        for row in rows
    )
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    kind = ' class="stacked"' if stacked else ""
    return f'<div class="scroll"><table{kind}><tr>{top}</tr>{body}</table></div>'


def _cell(tag: str, is_number: bool, content: str, name: str = "") -> str:
    kind = ' class="number"' if is_number else ""
    attribute = f' data-name="{name}"' if name else ""
    return f"<{tag}{kind}{attribute}>{content}</{tag}>"


def bars(rows: Iterable[str]) -> str:
    """A table of rows that have a bar in their last cell, below the others where room is short."""
    return f'<table class="bars">{"".join(rows)}</table>'


def bar(start: float, end: float, kind: str = "") -> str:
    """A bar in a track, from and to a percentage of its width."""
    return f'<i class="{kind}" style="left:{start:.2f}%;width:{end - start:.2f}%"></i>'


def mark(place: float, kind: str = "") -> str:
    """A mark in a track, at a share of its width."""
    return f'<b class="{kind}" style="left:{100.0 * place:.2f}%"></b>'


def shares(values: Sequence[float]) -> str:
    """A track divided by the shares of up to four zones, which add up to 1 at most."""
    parts = (
        f'<i class="zone-{number}" style="width:{100.0 * share:.2f}%"></i>'
        for number, share in enumerate(values, 1)
    )
    return f'<div class="track zones">{"".join(parts)}</div>'


def zone_key(names: Iterable[str]) -> str:
    """The colours of the zones, with their names."""
    parts = (
        f'<span><i class="zone-{number}"></i>{text(name)}</span>'
        for number, name in enumerate(names, 1)
    )
    return f'<p class="soft key">{"".join(parts)}</p>'
