"""The state of a session between two hooks: how far its transcript was read, what was told.

It is a small file of numbers and ids, never of texts; losing it costs a second reading, which
stores nothing twice.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Self

from salience.coding_agents.paths import make_private, state_folder

_KEPT_SECONDS = 60 * 86_400  # that the file of a session stays after its last hook
_MOST_TOLD = 2_000


@dataclass
class Session:
    """The state of a session: bytes of its transcript that were read, turns in them, ids told.

    `before` is where the reading before the last one began: from there on comes the context of what
    is read next.
    """

    path: Path
    transcript: str = ""
    before: int = 0
    read: int = 0
    turns: int = 0
    told: list[str] = field(default_factory=list)

    @classmethod
    def load(cls, agent: str, session: str) -> Self:
        """The state of a session, a new one if there is none or it cannot be read."""
        folder = os.path.join(make_private(state_folder()), "sessions")
        name = blake2b(f"{agent} {session}".encode(), digest_size=12).hexdigest()
        path = Path(make_private(folder)) / f"{name}.json"
        try:
            values: Any = json.loads(path.read_text("utf-8"))
            state = cls(path, **values)
            valid = all(
                isinstance(number, int) and number >= 0
                for number in (state.before, state.read, state.turns)
            )
            return state if valid and isinstance(state.told, list) else cls(path)
        except (OSError, ValueError, TypeError):
            return cls(path)

    def save(self) -> None:
        """Write the state, whole or not at all."""
        values = asdict(self)
        del values["path"]
        values["told"] = self.told[-_MOST_TOLD:]
        text = json.dumps(values)
        draft = self.path.with_suffix(f".{os.getpid()}.tmp")
        draft.write_text(text, "utf-8")
        os.replace(draft, self.path)


def forget_old_sessions() -> None:
    """Remove the files of sessions that ended long ago."""
    oldest = time.time() - _KEPT_SECONDS
    with suppress(OSError):
        for entry in os.scandir(os.path.join(state_folder(), "sessions")):
            if entry.stat().st_mtime < oldest:
                os.unlink(entry.path)
