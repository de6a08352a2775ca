"""How values travel between NumPy and PostgreSQL: half-precision vectors, arrays of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
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
    format = pq.Format.BINARY

    def load(self, data: Buffer) -> Any:
        return np.frombuffer(data, dtype=">f2", offset=4).astype(np.float16)


def _array_loader(code: str) -> type[Loader]:
    """A loader of PostgreSQL's arrays of one dimension without NULLs as NumPy arrays."""
    item = np.dtype([("size", ">i4"), ("value", f">{code}")])
    plain = np.dtype(code)

    class ArrayLoader(Loader):
        format = pq.Format.BINARY

        def load(self, data: Buffer) -> Any:
            if len(data) <= 12:  # no dimension, so no element
                return np.empty(0, dtype=plain)
            return np.frombuffer(data, dtype=item, offset=20)["value"].astype(plain)

    return ArrayLoader


_ARRAYS = {"int4": "i4", "int8": "i8", "float4": "f4", "float8": "f8"}


def vector_type(connection: Connection[Any]) -> TypeInfo | None:
    """pgvector's type in a database, None where the extension is missing."""
    return TypeInfo.fetch(connection, "halfvec")


def register(context: AdaptContext, vector: TypeInfo) -> None:
    """Teach a connection the types."""
    vector.register(context)
    adapters = context.adapters
    if adapters is None:
        raise TypeError("a connection has adapters")
    dumper = type("VectorDumper", (_VectorDumper,), {"oid": vector.oid})
    adapters.register_dumper(np.ndarray, dumper)
    adapters.register_loader(vector.oid, _VectorLoader)
    for name, code in _ARRAYS.items():
        info = adapters.types[name]
        adapters.register_loader(info.array_oid, _array_loader(code))
