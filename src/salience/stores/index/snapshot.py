"""A snapshot of an index: its arrays in one file, which a process reads in one sweep.

It copies them: if somebody truncates a mapped file, the process ends. The file has the arrays one
after the other, each on pages of its own with unwritten room behind it: additions to an array take
new pages and copy nothing. Behind them are a header (JSON: whose index this is, dtype, shape, place
and checksum of each array, and all that is not an array) and its digest.
"""

from __future__ import annotations

import json
import math
import mmap
import os
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from struct import Struct
from typing import Any, BinaryIO, ClassVar, NamedTuple
from zlib import crc32

import numpy as np

from salience.stores.index.growable_array import GrowableArray

FORMAT = 4
"""The number of this layout, and of everything that the parts of an index save in it."""
_TRAILER = Struct("<8sQQ16s")  # the magic, the place and the size of the header, its digest
_MAGIC = b"salience"
_PAGE_BYTES = 4_096
_ROOM = 16  # one element in so many is left as room behind an array
_CHECKED_BYTES = 1 << 20  # at once
_Arrays = list[GrowableArray]


class Part:
    """A part of an index that a snapshot holds, and that a new process makes from it.

    `SAVED` names the saved attributes, `GIVEN` those among them that the class is called with. If
    it `ONLY_GROWS`, elements of its arrays never change, and a snapshot may be written while others
    come.
    """

    SAVED: ClassVar[tuple[str, ...]] = ()
    GIVEN: ClassVar[tuple[str, ...]] = ()
    ONLY_GROWS: ClassVar[bool] = False
    _kinds: ClassVar[dict[str, type[Part]]] = {}

    def __init_subclass__(cls) -> None:
        Part._kinds[cls.__name__] = cls

    def before_saving(self) -> None:
        """Work out what the next process would have to."""

    def restored(self) -> None:
        """Work out what is not saved."""

    @classmethod
    def of(cls, saved: Mapping[str, Any], arrays: _Arrays, before: object) -> Part:
        """The saved part; `before` is what stands in its place, if it is of its kind."""
        kind = cls._kinds[saved["kind"]]
        attributes = saved["attributes"]
        if attributes.keys() != set(kind.SAVED):
            raise ValueError(f"{kind.__name__} had other attributes")
        if type(before) is not kind:
            arguments = (_restored(attributes[name], arrays, None) for name in kind.GIVEN)
            before = kind(*arguments)
        assert isinstance(before, Part)
        for name in kind.SAVED:
            if name not in kind.GIVEN:
                former = getattr(before, name, None)
                setattr(before, name, _restored(attributes[name], arrays, former))
        before.restored()
        return before


class Saved(NamedTuple):
    """All of an index: a tree of JSON, in which arrays are numbers, and these arrays."""

    tree: Any
    arrays: _Arrays

    @classmethod
    def of(cls, part: Part) -> Saved:
        """All that a part and those below it save, as it is now."""
        arrays: _Arrays = []
        return cls(_saved(part, arrays, copied=True), arrays)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(array.nbytes for array in self.arrays)

    def restore(self, part: Part) -> None:
        """Make a part the saved one."""
        Part.of(self.tree, self.arrays, part)


def _saved(value: Any, arrays: _Arrays, *, copied: bool) -> Any:
    if isinstance(value, Part):
        value.before_saving()
        copied = not value.ONLY_GROWS
        attributes = {n: _saved(getattr(value, n), arrays, copied=copied) for n in value.SAVED}
        return {"kind": type(value).__name__, "attributes": attributes}
    if isinstance(value, GrowableArray | np.ndarray):
        array = value.view if isinstance(value, GrowableArray) else value
        arrays.append(GrowableArray.over(array.copy() if copied else array, len(array)))
        return {"array" if array is value else "grows": len(arrays) - 1}
    if isinstance(value, dict):
        return {"dict": {n: _saved(item, arrays, copied=copied) for n, item in value.items()}}
    if isinstance(value, list | tuple) and value and isinstance(value[0], Part | GrowableArray):
        return {"list": [_saved(item, arrays, copied=copied) for item in value]}
    return {"json": list(value) if isinstance(value, list) else value}


def _restored(saved: Mapping[str, Any], arrays: _Arrays, before: Any) -> Any:
    if "kind" in saved:
        return Part.of(saved, arrays, before)
    [(how, value)] = saved.items()
    if how == "array":
        return arrays[value].view
    if how == "grows":
        return arrays[value]
    if how == "dict":
        former = before or {}
        return {n: _restored(item, arrays, former.get(n)) for n, item in value.items()}
    if how == "list":
        former = [*(before or ()), *[None] * len(value)]
        parts = [_restored(item, arrays, was) for item, was in zip(value, former, strict=False)]
        return tuple(parts) if isinstance(before, tuple) else parts
    return value


def write(file: BinaryIO, saved: Saved, about: Sequence[Any]) -> str:
    """Write a snapshot; `about` says whose it is. Return the digest of its header."""
    at, places = 0, []
    for array in saved.arrays:
        values = np.ascontiguousarray(array.view)
        room = len(values) // _ROOM + _ROOM
        file.seek(at)
        file.write(values.data)
        places.append((values.dtype.str, values.shape, room, at, crc32(values.data)))
        end = at + values.nbytes + room * values.itemsize * math.prod(values.shape[1:])
        at = -(-end // _PAGE_BYTES) * _PAGE_BYTES
    header = json.dumps(
        {"about": about, "arrays": places, "tree": saved.tree}, ensure_ascii=False
    ).encode()
    digest = _digest(header)
    file.seek(at)
    file.write(header)
    file.write(_TRAILER.pack(_MAGIC, at, len(header), digest))
    return digest.hex()


def _digest(header: bytes) -> bytes:
    return blake2b(header, digest_size=16).digest()


class SnapshotFile:
    """A snapshot in an open file, with a sound header.

    Raises:
        ValueError: it is not a snapshot, or not a complete one.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = os.fstat(file.fileno()).st_size
        if self._size < _TRAILER.size:
            raise ValueError("it is too short")
        trailer = os.pread(file.fileno(), _TRAILER.size, self._size - _TRAILER.size)
        magic, at, length, digest = _TRAILER.unpack(trailer)
        if magic != _MAGIC or at + length + _TRAILER.size != self._size:
            raise ValueError("its end is missing")
        header = os.pread(file.fileno(), length, at)
        if _digest(header) != digest:
            raise ValueError("its header is damaged")
        self.digest = digest.hex()
        content = json.loads(header)
        self.about: list[Any] = content["about"]
        self._places, self.tree = content["arrays"], content["tree"]

    def is_sound(self) -> bool:
        """Test whether all arrays have their checksums."""
        for dtype, shape, _, at, expected in self._places:
            end, checksum = at + np.dtype(dtype).itemsize * math.prod(shape), 0
            for start in range(at, end, _CHECKED_BYTES):
                size = min(_CHECKED_BYTES, end - start)
                checksum = crc32(os.pread(self._file.fileno(), size, start), checksum)
            if checksum != expected:
                return False
        return True

    def read(self) -> Saved:
        """All that was saved; the file may be closed then.

        Raises:
            ValueError: it has become shorter.
        """
        pages = mmap.mmap(-1, self._size)  # where room takes no memory until something is in it
        arrays = []
        for dtype, (size, *shape), room, at, _ in self._places:
            kind, width = np.dtype(dtype), math.prod(shape)
            with memoryview(pages)[at : at + size * width * kind.itemsize] as view:
                self._file.seek(at)
                if self._file.readinto(view) != len(view):  # type: ignore[attr-defined]
                    raise ValueError("it is cut short")
            values = np.frombuffer(pages, kind, (size + room) * width, at)
            arrays.append(GrowableArray.over(values.reshape(-1, *shape), size))
        return Saved(self.tree, arrays)

    def attribute(self, name: str) -> Any:
        """A value that the index itself saved under a name, if it is not an array."""
        return self.tree["attributes"][name]["json"]
