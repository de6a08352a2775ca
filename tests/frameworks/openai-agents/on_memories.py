"""A plugin of pytest: `agents.SQLiteSession` is a session in a memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import agents
import agents.memory

from salience.integrations.openai_agents import SalienceSession


class SQLiteSession(SalienceSession):
    """A session in a memory, made as the SDK's own is made."""

    def __init__(
        self,
        session_id: str,
        db_path: str | Path = ":memory:",
        sessions_table: str = "",
        messages_table: str = "",
        session_settings: Any = None,
    ) -> None:
        address = "ram://" if str(db_path) == ":memory:" else db_path
        super().__init__(session_id, address, session_settings=session_settings, embedder=None)


agents.SQLiteSession = SQLiteSession
agents.memory.SQLiteSession = SQLiteSession
