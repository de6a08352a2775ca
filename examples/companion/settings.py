"""The settings of the companion: whose memory, where, and which model."""

from __future__ import annotations

import argparse
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from companion.model import Model


@dataclass(frozen=True)
class Settings:
    """The settings that the command line and the environment give."""

    user: str
    db: str
    session: str
    base_url: str
    model_name: str

    @classmethod
    def parsed(cls, description: str | None) -> Self:
        """The settings of this process."""
        known = os.environ.get
        now = datetime.now().isoformat(timespec="seconds")
        parser = argparse.ArgumentParser(description=description)
        parser.add_argument("--user", default="me", help="whose memory it is")
        parser.add_argument("--db", default="companion.db", help="a file, or http://host:port")
        parser.add_argument("--session", default=now, help="a name; the present time by default")
        parser.add_argument(
            "--base-url",
            default=known("OPENAI_BASE_URL", "http://localhost:11434/v1"),
            help="of the endpoint [env: OPENAI_BASE_URL; default: Ollama on this machine]",
        )
        parser.add_argument(
            "--model",
            dest="model_name",
            default=known("OPENAI_MODEL", "qwen3"),
            help="one that can call tools [env: OPENAI_MODEL]",
        )
        return cls(**vars(parser.parse_args()))

    @asynccontextmanager
    async def model(self) -> AsyncIterator[Model]:
        """The model during a block; its key is in the environment's OPENAI_API_KEY."""
        model = Model(self.base_url, self.model_name, os.environ.get("OPENAI_API_KEY"))
        try:
            yield model
        finally:
            await model.close()
