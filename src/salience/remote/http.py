"""httpx, which the extra `client` installs, and clients of it by event loop."""

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from salience.errors import StoreError

try:
    import httpx
except ImportError:
    raise StoreError('a server needs the extra `client`: pip install "salience[client]"') from None

__all__ = ["ClientsByLoop", "httpx"]


class ClientsByLoop:
    """A client for each event loop that asks for one: its connections wait in that loop alone."""

    def __init__(self, open_client: Callable[[], httpx.AsyncClient]) -> None:
        self._open = open_client
        self._clients: WeakKeyDictionary[Any, httpx.AsyncClient] = WeakKeyDictionary()

    def here(self) -> httpx.AsyncClient:
        """The client of the running loop.

        Raises:
            StoreError: the loop is that of the process from which this one was forked.
        """
        import asyncio  # which the memory that waits does without

        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            problem = "this process was forked inside the event loop of its parent"
            raise StoreError(f"{problem}; begin one of its own, by asyncio.run") from None
        if loop not in self._clients:
            self._clients[loop] = self._open()
        return self._clients[loop]

    async def close(self) -> None:
        """Close the client of the running loop; those of ended ones are gone with these."""
        await self.here().aclose()
