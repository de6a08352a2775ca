"""The memory that a process gives to replicas."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from salience.errors import InvalidInput

MEMORY_VARIABLE = "SALIENCE_POSTGRES_MEMORY_MB"
"""The environment variable that says how much memory a process gives to replicas; 0 for none.

By default it is half of the machine's or container's, and at most 4,096.
"""
_DEFAULT_MAX_MB = 4096
_CGROUP_FILES = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_UNKNOWN_MACHINE_BYTES = 4 << 30
_BYTES_PER_MEMORY = 2_000  # that an index takes, roughly
_LARGEST_SHARE = 2  # the largest namespace takes a half of the memory


def memory_limit() -> int:
    """The bytes that a process gives to replicas.

    Raises:
        InvalidInput: the environment variable holds no number.
    """
    value = os.environ.get(MEMORY_VARIABLE)
    if value is None:
        return min(machine_memory() // 2, _DEFAULT_MAX_MB << 20)
    if not value.isascii() or not value.isdigit():
        remedy = "give a whole number of megabytes, 0 for none"
        raise InvalidInput(MEMORY_VARIABLE, f"is {value!r}", remedy)
    return int(value) << 20


def most_memories(limit: int) -> int:
    """The most memories of a namespace that a process of so many bytes holds."""
    return limit // (_BYTES_PER_MEMORY * _LARGEST_SHARE)


def machine_memory(limits: Sequence[str] = _CGROUP_FILES) -> int:
    """The bytes of memory that the machine has, or its container may use.

    `limits` are files that may hold the limit of a container. Where a system does not tell, 4 GiB.
    """
    sizes = [_UNKNOWN_MACHINE_BYTES]
    if hasattr(os, "sysconf"):  # everywhere but on Windows
        sizes = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path in limits:
        with suppress(OSError, ValueError):  # no such file, or "max"
            sizes.append(int(Path(path).read_text(encoding="ascii")))
    return min(sizes)
