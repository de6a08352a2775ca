"""Anthropic's memory tool, whose files are memories.

    tool = SalienceMemoryTool("agent.db", user_id="ana")
    client.beta.messages.tool_runner(model=..., messages=[...], tools=[tool], max_tokens=1024)

The model reads and writes text files under /memories. Each file is a memory whose id is its path,
so it is found by `search` as well. Directories are not stored: they are where files are.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial, update_wrapper
from typing import Any, Concatenate, Unpack
from urllib.parse import unquote

from salience.engine.memory import Memory
from salience.engine.options import RecordFields, Settings
from salience.errors import IdTaken, InvalidInput, NotFound, VersionConflict
from salience.integrations._extra import extra
from salience.integrations._memory import MemoryLike, Opened, P, T
from salience.records.fields import FIELDS
from salience.records.record import MemoryRecord

with extra("anthropic"):
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
    from anthropic.types.beta import (
        BetaCacheControlEphemeralParam,
        BetaMemoryTool20250818Command,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )
    from anyio.to_thread import run_sync
    from pydantic import ValidationError

ROOT = "/memories"
KIND = "file"
MAX_LINES = 999_999
_MAX_PATH_CHARACTERS = FIELDS["id"].limit or 512
_BLANK_KEY = "blank_text"  # of the metadata: the text of a file without any words
_LEVELS = 2  # of directories in a listing
_CONTEXT_LINES = 2  # before and after a replacement


class SalienceMemoryTool(BetaAbstractMemoryTool):
    """The memory tool over a memory, for the tool runner of `Anthropic`.

    It may be shared between threads and conversations of one user.
    """

    def __init__(
        self,
        memory: MemoryLike,
        *,
        user_id: str | None = None,
        cache_control: BetaCacheControlEphemeralParam | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        """Keep files in a memory.

        Args:
            memory: a memory, or the address of one.
            user_id: the user whose files these are: they are in the namespace `scope(user_id)`. By
                default they are in that of the memory.
            cache_control: a breakpoint of the prompt cache, at the definition of the tool.
            settings: those of `Memory.open`, if an address is given.
        """
        super().__init__(cache_control=cache_control)
        self._opened = Opened(memory, **settings).of_user(user_id)
        self._files = _Files(self._opened.sync)

    def close(self) -> None:
        """Close what was opened here; a memory that was given stays open."""
        self._opened.close()

    def execute(self, command: BetaMemoryTool20250818Command) -> str:
        """Do what a command says, and tell the result.

        Raises:
            ToolError: the command is incomplete, or cannot be done.
        """
        answer = super().execute(_complete(command))
        assert isinstance(answer, str)
        return answer

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a file with line numbers, or what is in a directory."""
        with _told():
            return self._files.view(command.path, command.view_range)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Write a new file."""
        with _told():
            return self._files.create(command.path, command.file_text)

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that occurs once in a file."""
        with _told():
            return self._files.replace(command.path, command.old_str, command.new_str)

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert lines behind a line of a file; 0 is before the first."""
        with _told():
            return self._files.insert(command.path, command.insert_line, command.insert_text)

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Erase a file, or a directory with all that is in it."""
        with _told():
            return self._files.delete(command.path)

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file or a directory."""
        with _told():
            return self._files.rename(command.old_path, command.new_path)

    def clear_all_memory(self) -> str:
        """Erase all files; other memories of the user stay."""
        with _told():
            return self._files.clear()


def _of_tool(
    method: Callable[Concatenate[SalienceMemoryTool, P], T],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """The method that calls one of the tool in a thread."""

    async def call(self: Any, /, *args: P.args, **options: P.kwargs) -> T:
        return await run_sync(partial(method, self._tool, *args, **options))

    return update_wrapper(call, method)


class AsyncSalienceMemoryTool(BetaAsyncAbstractMemoryTool):
    """The memory tool over a memory, for the tool runner of `AsyncAnthropic`."""

    def __init__(
        self,
        memory: MemoryLike,
        *,
        user_id: str | None = None,
        cache_control: BetaCacheControlEphemeralParam | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        """Keep files in a memory, as `SalienceMemoryTool` does."""
        super().__init__(cache_control=cache_control)
        self._tool = SalienceMemoryTool(memory, user_id=user_id, **settings)

    aclose = _of_tool(SalienceMemoryTool.close)
    execute = _of_tool(SalienceMemoryTool.execute)
    view = _of_tool(SalienceMemoryTool.view)
    create = _of_tool(SalienceMemoryTool.create)
    str_replace = _of_tool(SalienceMemoryTool.str_replace)
    insert = _of_tool(SalienceMemoryTool.insert)
    delete = _of_tool(SalienceMemoryTool.delete)
    rename = _of_tool(SalienceMemoryTool.rename)
    clear_all_memory = _of_tool(SalienceMemoryTool.clear_all_memory)


@contextmanager
def _told() -> Iterator[None]:
    """Tell the model what it can mend; other errors are those of the program."""
    try:
        yield
    except InvalidInput as problem:
        raise ToolError(f"Error: {problem}") from problem


def _complete(command: BetaMemoryTool20250818Command) -> BetaMemoryTool20250818Command:
    """A command with all of its fields, in their types: a model may have left some out."""
    try:
        return type(command).model_validate(dict(command))
    except ValidationError as problem:
        wrong = "; ".join(
            f"{'.'.join(map(str, error['loc']))}: {error['msg']}" for error in problem.errors()
        )
        raise ToolError(f"Error: {wrong}") from problem


class _Files:
    """The files of one namespace."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def view(self, path: str, lines: Sequence[int] | None) -> str:
        path = _canonical(path)
        record = self._memory.get(path)
        if record is not None:
            return _numbered(path, _text(record), lines)
        sizes = {file.id: len(_text(file).encode()) for file in self._below(path)}
        if not sizes and path != ROOT:
            raise ToolError(f"The path {path} does not exist. Please provide a valid path.")
        return _listing(path, sizes)

    def create(self, path: str, text: str) -> str:
        path = _canonical(path)
        if path == ROOT or self._is_directory(path):
            raise ToolError(f"Error: File {path} already exists")
        self._check_parents(path)
        metadata, content = _stored(path, text)
        fields: dict[str, Any] = {"kind": KIND, "title": _title(path), "pinned": True}
        try:
            self._memory.add(content, id=path, metadata=metadata, **fields)
        except IdTaken:
            raise ToolError(f"Error: File {path} already exists") from None
        return f"File created successfully at: {path}"

    def replace(self, path: str, old: str, new: str) -> str:
        path = _canonical(path)

        def replaced(text: str) -> str:
            lines = _lines_with(old, text)
            if not lines:
                raise ToolError(
                    f"No replacement was performed, old_str `{old}` did not appear verbatim in "
                    f"{path}."
                )
            if text.count(old) > 1:
                raise ToolError(
                    f"No replacement was performed. Multiple occurrences of old_str `{old}` in "
                    f"lines: {', '.join(map(str, lines))}. Please ensure it is unique"
                )
            return text.replace(old, new)

        before, after = self._edit(path, replaced, " Please provide a valid path.")
        first = before[: before.index(old)].count("\n")
        snippet = _with_numbers(after.split("\n"), first - _CONTEXT_LINES, first + _CONTEXT_LINES)
        return (
            "The memory file has been edited. Here is the snippet showing the change (with line "
            f"numbers):\n{snippet}"
        )

    def insert(self, path: str, after_line: int, inserted: str) -> str:
        path = _canonical(path)

        def with_lines(text: str) -> str:
            lines = text.removesuffix("\n").split("\n") if text else []
            if not 0 <= after_line <= len(lines):
                raise ToolError(
                    f"Error: Invalid `insert_line` parameter: {after_line}. It should be within "
                    f"the range of lines of the file: [0, {len(lines)}]"
                )
            lines.insert(after_line, inserted.rstrip("\n"))
            return "\n".join(lines).removesuffix("\n") + "\n"

        self._edit(path, with_lines)
        return f"The file {path} has been edited."

    def delete(self, path: str) -> str:
        path = _canonical(path)
        if path == ROOT:
            raise ToolError("Error: Cannot delete the /memories directory itself")
        if not self._memory.delete(path) and not self._memory.delete_all(_inside(path)).memories:
            raise _missing(path)
        return f"Successfully deleted {path}"

    def rename(self, old: str, new: str) -> str:
        old, new = _canonical(old), _canonical(new)
        if old == ROOT:
            raise ToolError("Error: Cannot rename the /memories directory itself")
        if new == ROOT or self._memory.get(new) is not None or self._is_directory(new):
            raise ToolError(f"Error: The destination {new} already exists")
        record = self._memory.get(old)
        files = list(self._below(old)) if record is None else [record]
        if not files:
            raise _missing(old)
        if new.startswith(f"{old}/"):
            raise ToolError(f"Error: {new} is inside of {old}")
        self._check_parents(new)
        moved = [_moved(file, new + file.id.removeprefix(old)) for file in files]
        try:
            self._memory.add_many(moved, strict=True, dedup=False)
        except IdTaken:  # meanwhile
            raise ToolError(f"Error: The destination {new} already exists") from None
        self._memory.delete_many([file.id for file in files])
        return f"Successfully renamed {old} to {new}"

    def clear(self) -> str:
        self._memory.delete_all(_inside(ROOT))
        return "All memory cleared"

    def _below(self, path: str) -> Iterator[MemoryRecord]:
        """The files in a directory, at any depth."""
        return iter(self._memory.iterate(_inside(path)))

    def _is_directory(self, path: str) -> bool:
        return self._memory.count(_inside(path)) > 0

    def _edit(self, path: str, change: Callable[[str], str], remedy: str = "") -> tuple[str, str]:
        """Change the text of a file, which others may change at the same time; before and after."""
        while True:
            record = self._memory.get(path)
            if record is None:
                raise _missing(path, remedy)
            before = _text(record)
            after = change(before)
            metadata, content = _stored(path, after)
            metadata = {_BLANK_KEY: None, **metadata}
            try:
                self._memory.update(
                    path, content=content, metadata=metadata, if_version=record.version
                )
            except VersionConflict:
                continue
            except NotFound:
                raise _missing(path, remedy) from None
            return before, after

    def _check_parents(self, path: str) -> None:
        """Refuse a path below a file."""
        parts = path.split("/")
        parents = ["/".join(parts[:end]) for end in range(3, len(parts))]
        for parent, file in zip(parents, self._memory.get_many(parents), strict=True):
            if file is not None:
                raise ToolError(f"Error: {parent} is a file, not a directory")


def _canonical(path: str) -> str:
    """A path without empty parts, of at most as many characters as an id."""
    decoded = path
    while (plain := unquote(decoded)) != decoded:  # "..", however often it was encoded
        decoded = plain
    if ".." in decoded.replace("\\", "/").split("/"):
        raise ToolError(f"Error: Path {path} would escape /memories directory")
    if not path.isprintable():
        raise ToolError("Error: The path has characters that are not visible; leave them out")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    canonical = "/" + "/".join(parts)
    if not f"{canonical}/".startswith(f"{ROOT}/") or not path.startswith("/"):
        raise ToolError(f"Error: Path must start with /memories, got: {path}")
    if len(canonical) > _MAX_PATH_CHARACTERS:
        raise ToolError(f"Error: The path has more than {_MAX_PATH_CHARACTERS} characters")
    return canonical


def _inside(path: str) -> Mapping[str, Any]:
    """A filter for the files in a directory: ids that begin with its path and a slash."""
    return {"id": {"gte": f"{path}/", "lt": f"{path}0"}}  # "0" is the character after "/"


def _title(path: str) -> str:
    return path.removeprefix(f"{ROOT}/")


def _stored(path: str, text: str) -> tuple[dict[str, Any], str]:
    """The metadata and the content of a file: its name, if its text has no words."""
    return ({}, text) if text.strip() else ({_BLANK_KEY: text}, _title(path))


def _text(file: MemoryRecord) -> str:
    blank = file.metadata.get(_BLANK_KEY)
    return file.content if blank is None else blank


def _moved(file: MemoryRecord, path: str) -> dict[str, Any]:
    """The item of a file at another path."""
    metadata, content = _stored(path, _text(file))
    fields = {name: getattr(file, name) for name in RecordFields.__annotations__}
    changed = {"id": path, "content": content, "title": _title(path)}
    return {**fields, **changed, "metadata": {**file.metadata, **metadata}}


def _missing(path: str, remedy: str = "") -> ToolError:
    return ToolError(f"Error: The path {path} does not exist{'.' if remedy else ''}{remedy}")


def _lines_with(part: str, text: str) -> list[int]:
    """The lines, from 1, at which a part of a text begins; none for an empty part."""
    lines = []
    start = text.find(part) if part else -1
    while start >= 0:
        lines.append(text.count("\n", 0, start) + 1)
        start = text.find(part, start + 1)
    return lines


def _numbered(path: str, text: str, view_range: Sequence[int] | None) -> str:
    """A file, or some lines of it, with their numbers."""
    lines = text.split("\n")
    if len(lines) > MAX_LINES:
        raise ToolError(f"File {path} exceeds maximum line limit of 999,999 lines.")
    first, last = 1, len(lines)
    if view_range:
        first, last = view_range if len(view_range) == 2 else (0, 0)
        last = len(lines) if last == -1 else last
        if not max(first, 1) <= min(last, len(lines)):
            raise ToolError(
                f"Error: Invalid `view_range` parameter: {list(view_range)}. It should be the "
                f"first and the last line, or -1 for the end, within [1, {len(lines)}]"
            )
    numbered = _with_numbers(lines, first - 1, last - 1)
    return f"Here's the content of {path} with line numbers:\n{numbered}"


def _with_numbers(lines: Sequence[str], first: int, last: int) -> str:
    """Lines from a place to another (from 0; those outside are left out), with their numbers."""
    places = range(max(first, 0), min(last + 1, len(lines)))
    return "\n".join(f"{place + 1:>6}\t{lines[place]}" for place in places)


def _listing(path: str, sizes: Mapping[str, int]) -> str:
    """The files and directories in a directory, each with the bytes of all that is in it."""
    totals: dict[tuple[str, ...], int] = {(): 0}
    directories = set[tuple[str, ...]]()
    for file, size in sizes.items():
        parts = tuple(file.removeprefix(f"{path}/").split("/"))
        for depth in range(min(len(parts), _LEVELS) + 1):
            if depth and (parts[depth - 1].startswith(".") or parts[depth - 1] == "node_modules"):
                break
            totals[parts[:depth]] = totals.get(parts[:depth], 0) + size
        directories.update(parts[:depth] for depth in range(1, len(parts)))
    lines = [
        f"{_size(total)}\t{'/'.join((path, *parts))}{'/' if parts in directories else ''}"
        for parts, total in sorted(totals.items())
    ]
    header = (
        f"Here're the files and directories up to {_LEVELS} levels deep in {path}, excluding "
        "hidden items and node_modules:"
    )
    return "\n".join([header, *lines])


def _size(count: float) -> str:
    """A number of bytes for a reader: 512B, 4.0K."""
    if count < 1024:
        return f"{count}B"
    for unit in "KM":
        count /= 1024
        if count < 1024:
            return f"{count:.1f}{unit}"
    return f"{count / 1024:.1f}G"
