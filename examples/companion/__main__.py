"""The companion on the command line: `python -m companion --user ana`."""

from __future__ import annotations

import asyncio

from companion.memory import MemoryTools
from companion.settings import Settings
from companion.talk import talk
from salience import AsyncMemory


async def main(settings: Settings) -> None:
    """Talk with one user, whose memories have a namespace of their own."""
    async with AsyncMemory(settings.db, namespace=settings.user) as memory:
        tools = MemoryTools(memory, settings.user, settings.session)
        async with settings.model() as model:
            await talk(model, tools, settings.user)


if __name__ == "__main__":
    asyncio.run(main(Settings.parsed(__doc__)))
