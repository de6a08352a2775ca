"""Shared by all importers: items, the error, and reading text of any encoding."""

from __future__ import annotations

import codecs
import io
import json
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime
from os.path import realpath
from pathlib import Path
from typing import Any, AnyStr, Literal

from salience.closing import regular_file
from salience.errors import SalienceError
from salience.lazily import dataclass, field, regex


class Item(dict[str, Any]):
    """The fields of one memory by name, as `Memory.add_many` takes them, and where it comes from.

    `place` is its place in the file, `namespace` the one that the file names, and `assumed` are the
    fields that were derived from the file itself, not from its text.
    """

    __slots__ = ("assumed", "namespace", "place")

    def __init__(
        self,
        fields: Mapping[str, Any] | None = None,
        place: str = "",
        *,
        namespace: str | None = None,
        assumed: tuple[str, ...] = (),
    ) -> None:
        super().__init__(fields or {})
        self.place = place
        self.namespace = namespace
        self.assumed = assumed


@dataclass(frozen=True)
class Address:
    """The address of a server, shown without user, password and options."""

    url: str

    @property
    def name(self) -> str:
        """The address as it may be shown."""
        scheme, _, rest = re.split(r"[?#]", self.url)[0].partition("://")
        authority, slash, path = rest.partition("/")
        return f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}"

    def __str__(self) -> str:
        return self.name


Place = Path | Address


def located(path: str | Place) -> Place:
    """A path, or the address of a server if there is a scheme before it (`http://...`)."""
    if isinstance(path, str):
        return Address(path) if _SCHEME.match(path) else Path(path)
    return path


_SCHEME = regex(r"[a-z][a-z0-9+.-]+://")
_MARKS = (  # the longer mark of UTF-32 begins like that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)
ZIP_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError),
    *(RuntimeError, NotImplementedError),  # encrypted, or packed in a way that is not known
    UnicodeDecodeError,  # the name of a file
)
"""The errors that reading a damaged zip raises."""

MAX_DOCUMENT_BYTES = 1 << 30
"""The most bytes of a file, or of a part of a zip, that is read as a whole."""
MAX_LINE_CHARACTERS = 1 << 26
"""The longest line of a file that is read line by line."""

FLAT = r'(?:[^{}"]|"(?:[^"\\]|\\.)*")*?'
"""A regular expression: what stands between two keys of an object of JSON, with no object in it."""

_MAX_PACKED = 50  # times that a zip or a part of it may grow; text grows by some ten times
_SMALL_BYTES = 1 << 26  # to which either may grow, however much that is
_HEAD_BYTES = 65_536
_MAX_DIGITS = 20  # of a time in seconds or milliseconds
_MIN_MILLISECONDS = 1e11  # larger numbers are no seconds: as such it is the year 5138


class ImportProblem(SalienceError, ValueError):
    """A file cannot be imported: names the file, the line if there is one, and the remedy."""

    def __init__(
        self, path: str | Place, problem: str, remedy: str = "", *, line: int | None = None
    ) -> None:
        self.path = located(path)
        self.line = line
        self.problem = problem
        self.remedy = remedy
        where = f"{self.path}, {self.place}" if self.place else str(self.path)
        super().__init__(f"{where}: {problem}" + (f"; {remedy}" if remedy else ""))

    @property
    def place(self) -> str:
        """The line in the file, if it is known."""
        return "" if self.line is None else f"line {self.line}"

    def within(self, folder: Path) -> str:
        """The file, relative to a folder, and the place in it."""
        path = self.path
        if isinstance(path, Path) and path.is_relative_to(folder):
            path = path.relative_to(folder)
        return f"{path}, {self.place}" if self.place else str(path)


DateOrder = Literal["dmy", "mdy"]
"""The orders of day, month and year."""
LeftOut = Callable[[ImportProblem], None]
"""Called with each part of a file or folder that cannot be read and is left out."""


def stop(problem: ImportProblem) -> None:
    """Leave nothing out: raise the problem."""
    raise problem


@dataclass
class Job:
    """A job of reading: the listeners for what is left out and for blank notes.

    `columns` are the names of columns of a table, by the fields that they have; `dates` is the
    order of day, month and year in dates that may be read in more than one.
    """

    left_out: LeftOut = stop
    blank: Callable[[str], object] = bool
    columns: Mapping[str, str] = field(default_factory=dict)
    dates: DateOrder | None = None


def inside(file: Path, path: Path) -> Path:
    """A file of the folder at a path, refused where it is a link that leads out of the folder."""
    if path.is_dir() and not Path(realpath(file)).is_relative_to(path.resolve()):  # a loop, too
        problem = "is a link that leads out of the folder"
        raise ImportProblem(file, problem, "copy the file into it, or import it by its own path")
    return file


def head(path: Path) -> bytes:
    """The first bytes of a file."""
    try:
        with regular_file(path) as file:
            return file.read(_HEAD_BYTES)
    except OSError as problem:
        raise unreadable(path, problem) from None


def text(path: Path) -> str:
    """The whole text of a file, its lines ended by a newline alone."""
    try:
        with regular_file(path) as file:
            raw = file.read(MAX_DOCUMENT_BYTES + 1)
    except OSError as problem:
        raise unreadable(path, problem) from None
    if len(raw) > MAX_DOCUMENT_BYTES:
        raise _too_large(path, str(path.name))
    return decoded(path, raw).replace("\r\n", "\n").replace("\r", "\n")


def most_unpacked(size: int) -> int:
    """The most bytes that a number of bytes of a zip may unpack to."""
    return max(_SMALL_BYTES, _MAX_PACKED * size)


def unpacked(path: Path, archive: zipfile.ZipFile, name: str | zipfile.ZipInfo) -> bytes:
    """The bytes of a part of the zip at a path, refused where they would fill the memory.

    Raises:
        ImportProblem: it is too large, or grows as no text does.
        ZIP_DAMAGE: it cannot be unpacked.
    """
    part = archive.getinfo(name) if isinstance(name, str) else name
    if part.file_size > MAX_DOCUMENT_BYTES:
        raise _too_large(path, part.filename)
    if part.file_size > most_unpacked(part.compress_size):
        raise ImportProblem(
            path,
            f"{part.filename} is {part.file_size:,} bytes made of {part.compress_size:,}, as no "
            "text is",
            "unpack it, look at it, and give the file",
        )
    return archive.read(part)  # of several parts of one name, this one


def _too_large(path: Path, name: str) -> ImportProblem:
    problem = f"{name} has more than {MAX_DOCUMENT_BYTES:,} bytes, too many to read as a whole"
    return ImportProblem(path, problem, "divide it, or write it as JSON lines")


def lines(path: Path, left_out: LeftOut = stop) -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers from 1, read as they are needed.

    A line that is too long goes to `left_out`.
    """
    encoding = _encoding(path, head(path))
    try:
        if encoding is not None and not encoding.startswith("utf-8"):
            with io.TextIOWrapper(regular_file(path), encoding) as file:
                yield from _bounded(path, file.readline, "\n", left_out)
            return
        with regular_file(path) as binary:
            for number, raw in _bounded(path, binary.readline, b"\n", left_out):
                yield number, _single_bytes(raw.removeprefix(codecs.BOM_UTF8))
    except OSError as problem:
        raise unreadable(path, problem) from None
    except UnicodeError:
        raise _not_text(path) from None


def _bounded(
    path: Path, read_line: Callable[[int], AnyStr], end: AnyStr, left_out: LeftOut
) -> Iterator[tuple[int, AnyStr]]:
    """The lines that `read_line` gives, none longer than `MAX_LINE_CHARACTERS`, by number."""
    number = 0
    while line := read_line(MAX_LINE_CHARACTERS):
        number += 1
        if len(line) < MAX_LINE_CHARACTERS or line.endswith(end):
            yield number, line
            continue
        while line and not line.endswith(end):
            line = read_line(MAX_LINE_CHARACTERS)
        limit = f"{MAX_LINE_CHARACTERS:,}"
        left_out(ImportProblem(path, f"has more than {limit} characters", "divide it", line=number))


def decoded(path: Path, raw: bytes, errors: str = "strict") -> str:
    """The text of the bytes of `path`: by its byte order mark, as UTF-8, else as Windows-1252."""
    encoding = _encoding(path, raw)
    try:
        return raw.decode(encoding, errors) if encoding else _single_bytes(raw)
    except UnicodeError:
        raise _not_text(path) from None


def _encoding(path: Path, raw: bytes) -> str | None:
    for mark, name in _MARKS:
        if raw.startswith(mark):
            return name
    nuls = raw[:_HEAD_BYTES].count(0)
    if not nuls:
        return None
    # UTF-16 without a mark shows zeros in every other byte, on the side of the high half.
    if nuls > len(raw[:_HEAD_BYTES]) // 4:
        return "utf-16-be" if raw[0] == 0 else "utf-16-le"
    raise _not_text(path)


def _single_bytes(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        pass
    try:
        return raw.decode("cp1252")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _not_text(path: Path) -> ImportProblem:
    return ImportProblem(path, "is not text", "save it as UTF-8, or leave it out")


def unreadable(path: Path, problem: OSError) -> ImportProblem:
    """The error for a file that the system refuses to read."""
    reason = (problem.strerror or str(problem)).lower()
    return ImportProblem(path, f"cannot be read: {reason}", "check the path and its permissions")


def parsed(path: Path, source: str, *, line: int | None = None, name: str = "") -> Any:
    """`source` parsed as JSON; `line` is its line in the file if it is a single line."""
    try:
        return json.loads(source)
    except json.JSONDecodeError as problem:
        reason = f"{problem.msg} at character {problem.colno}"
        raise ImportProblem(
            path,
            f"{name}not JSON: {reason}",
            "repair it, or remove it",
            line=line or problem.lineno,
        ) from None
    except (RecursionError, ValueError):  # nested without end, or a number of 5,000 digits
        raise ImportProblem(
            path, f"{name}JSON too deep or too large to read", "remove it", line=line
        ) from None


def clean(content: str) -> str:
    """`content` as a store can keep it: stripped, without NULs and lone surrogates."""
    stripped = content.replace("\0", "").strip()
    if stripped.isascii():
        return stripped
    return stripped.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


_SECONDS = regex(r"\d{9,}(?:\.\d+)?")  # that stand as text


def moment(value: Any) -> Any:
    """The time of an item, from a date, ISO 8601 text or (milli)seconds since 1970.

    Other text is passed on, empty text as None; values of other types too, so that writing refuses
    them with the name of the field.
    """
    if isinstance(value, str):
        value = value.strip() or None
        if value is None or len(value) > _MAX_DIGITS or not _SECONDS.fullmatch(value):
            return value
        value = float(value)
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    try:
        seconds = value / 1000 if abs(value) > _MIN_MILLISECONDS else value
        return datetime.fromtimestamp(seconds, tz=UTC)
    except (ValueError, OverflowError, OSError):
        return value
