"""Adapters between NumPy and PostgreSQL: half-precision vectors, arrays of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from psycopg import Connection, pq
from psycopg.abc import AdaptContext, Buffer
from psycopg.adapt import Dumper, Loader
from psycopg.types import TypeInfo


class _VectorDumper(Dumper):
    """An array as pgvector's halfvec: dimensions, two spare bytes, big-endian halves."""

    format = pq.Format.BINARY

    def dump(self, obj: Any) -> bytes:
        return len(obj).to_bytes(2, "big") + b"\0\0" + obj.astype(">f2").tobytes()


class _VectorLoader(Loader):
    """The bytes of a halfvec; `vector_matrix` makes an array of many at once."""

    format = pq.Format.BINARY

    def load(self, data: Buffer) -> bytes:
        return bytes(data[4:])


def vector_matrix(vectors: Sequence[bytes]) -> NDArray[np.float32]:
    """Vectors as loaded, all of one length, as float32 of shape (vectors, dimensions)."""
    flat = np.frombuffer(b"".join(vectors), dtype=">f2")
    return flat.reshape(len(vectors), -1).astype(np.float32)


def unpack_vectors(
    packed: bytes | None, count: int
) -> list[tuple[NDArray[np.intp], NDArray[np.float32]]]:
    """Vectors as `halfvec_send` writes them, one after the other.

    For each length that occurs: the places of its vectors, and these as float32 of shape (vectors,
    dimensions).
    """
    if not packed:
        return []
    size = int.from_bytes(packed[:2], "big")
    record = np.dtype([("head", ">i2", 2), ("values", ">f2", (size,))])
    if len(packed) == count * record.itemsize:
        records = np.frombuffer(packed, dtype=record)
        if (records["head"][:, 0] == size).all():
            return [(np.arange(count), records["values"].astype(np.float32))]
    by_length: dict[int, tuple[list[int], list[bytes]]] = {}
    at = 0
    for place in range(count):
        end = at + 4 + 2 * int.from_bytes(packed[at : at + 2], "big")
        places, vectors = by_length.setdefault(end - at, ([], []))
        places.append(place)
        vectors.append(packed[at + 4 : end])
        at = end
    return [(np.array(places), vector_matrix(vectors)) for places, vectors in by_length.values()]


def half_bytes(vector: bytes) -> bytes:
    """A vector as loaded, in the bytes of `codec.vector_bytes`."""
    return np.frombuffer(vector, dtype=">f2").astype("<f2").tobytes()


_ARRAY_HEADER_BYTES = 20  # bytes of an array's dimensions, flags, type, length and lower bound
_INTEGER_ITEM = np.dtype([("size", ">i4"), ("value", ">i4")])
_FLOAT_ITEM = np.dtype([("size", ">i4"), ("value", ">f8")])


class _IntegerArrayLoader(Loader):
    """An array of integers without NULLs as a NumPy array."""

    format = pq.Format.BINARY

    def load(self, data: Buffer) -> Any:
        if len(data) <= _ARRAY_HEADER_BYTES:
            return np.empty(0, dtype=np.int32)
        return np.frombuffer(data, dtype=_INTEGER_ITEM, offset=_ARRAY_HEADER_BYTES)["value"].astype(
            np.int32
        )


class _FloatArrayLoader(Loader):
    """The bytes of an array of numbers; see `float_array` and `float_list`."""

    format = pq.Format.BINARY

    def load(self, data: Buffer) -> bytes:
        return bytes(data[_ARRAY_HEADER_BYTES:])


def float_array(loaded: bytes) -> NDArray[np.float64]:
    """An array of numbers out of its bytes."""
    return np.frombuffer(loaded, dtype=_FLOAT_ITEM)["value"].astype(np.float64)


def float_list(loaded: bytes) -> list[float]:
    """A list of numbers out of the bytes of an array."""
    return float_array(loaded).tolist()


_INT4_ARRAY, _FLOAT8_ARRAY = 1007, 1022  # object ids that never change


def vector_type(connection: Connection[Any]) -> TypeInfo | None:
    """pgvector's type in a database, None where the extension is missing."""
    return TypeInfo.fetch(connection, "halfvec")


def register_types(context: AdaptContext, vector: TypeInfo) -> None:
    """Register the types with a connection."""
    vector.register(context)
    adapters = context.adapters
    if adapters is None:
        raise TypeError("a connection has adapters")
    dumper = type("VectorDumper", (_VectorDumper,), {"oid": vector.oid})
    adapters.register_dumper(np.ndarray, dumper)
    adapters.register_loader(vector.oid, _VectorLoader)
    adapters.register_loader(_INT4_ARRAY, _IntegerArrayLoader)
    adapters.register_loader(_FLOAT8_ARRAY, _FloatArrayLoader)
