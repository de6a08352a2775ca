"""Requests over HTTP: sent again where that is safe, their errors told as those of a memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import salience
from salience.errors import StoreClosed, StoreError
from salience.forks import by_proxy, connected, leave_to_parent, renew_after_fork
from salience.remote.calls import Request
from salience.remote.errors import Tries, error_of
from salience.remote.settings import RemoteSettings
from salience.retrieval.turnstile import stop_if_cancelled

try:
    import httpx
except ImportError:
    raise StoreError('a server needs the extra `client`: pip install "salience[client]"') from None

CONNECT_SECONDS = 10.0  # at most, until a server takes the connection
MAX_CONNECTIONS = 100
NDJSON = "application/x-ndjson"


class Transport:
    """The connections to one server, which threads and namespaces share."""

    _is_closed = False

    def __init__(self, settings: RemoteSettings) -> None:
        self._settings = settings
        self._client: httpx.Client = self._connected()
        self.threads = self._new_threads()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Open connections of its own, and take threads, in the copy of a process."""
        leave_to_parent(self._client)
        self._client, self.threads = self._connected(), self._new_threads()

    @staticmethod
    def _new_threads() -> ThreadPoolExecutor:
        """The threads that wait for requests: one for each connection, made when needed."""
        return ThreadPoolExecutor(MAX_CONNECTIONS, "salience-requests")

    def send(self, request: Request, content: Callable[[], Iterable[bytes]] | None = None) -> Any:
        """The JSON of the answer; None if it has none. `content` gives the body of an upload again.

        Raises:
            SalienceError: what the server refused, or why it cannot be reached.
        """
        tries = Tries(request)
        while True:
            try:
                response = self._response(request, content)
            except httpx.TransportError as problem:
                pause = tries.pause_after_failure(*self._failure(problem))
            else:
                members = _json(response)
                if response.is_success:
                    return members
                error = error_of(request, response.status_code, response.headers, members)
                pause = tries.pause_after_refusal(error, response.status_code, _code(members))
            stop_if_cancelled()
            time.sleep(pause)

    def _response(
        self, request: Request, content: Callable[[], Iterable[bytes]] | None
    ) -> httpx.Response:
        options, started = self._options(request), time.perf_counter()
        client = self._client
        try:
            if content is None:
                return client.request(**options, json=request.body)
            options["headers"]["Content-Type"] = NDJSON
            chunks = content()
            return client.request(**options, content=chunks)
        finally:
            self._trace(request, started)

    def download(self, request: Request, write: Callable[[bytes], object]) -> None:
        """Hand the bytes of an answer to a function as they come; nothing is sent again.

        Raises:
            SalienceError: what the server refused, or where the answer broke off.
        """
        options, started = self._options(request), time.perf_counter()
        client = self._client
        try:
            with client.stream(**options) as response:
                if response.is_success:
                    for chunk in response.iter_bytes():
                        write(chunk)
                    return
                response.read()
                status, members = response.status_code, _json(response)
                raise error_of(request, status, response.headers, members)
        except httpx.TransportError as problem:
            error, _ = self._failure(problem)
            raise error from None
        finally:
            self._trace(request, started)

    def close(self) -> None:
        """Close the connections; no request can be sent any more."""
        self._is_closed = True
        self._client.close()

    def _connected(self) -> Any:
        """A client of httpx for the server; see `connected`."""
        settings = self._settings
        seconds = settings.timeout
        connect = CONNECT_SECONDS if seconds is None else min(seconds, CONNECT_SECONDS)
        headers = {"User-Agent": f"salience/{salience.__version__}"}
        if settings.api_key is not None:
            headers["Authorization"] = f"Bearer {settings.api_key}"
        options = {
            "headers": headers,
            "timeout": httpx.Timeout(seconds, connect=connect),
            "limits": httpx.Limits(
                max_connections=MAX_CONNECTIONS, max_keepalive_connections=MAX_CONNECTIONS
            ),
        }
        return connected(httpx.Client, httpx, settings.url, **options)

    def _options(self, request: Request) -> dict[str, Any]:
        """The arguments of httpx for a request."""
        if self._is_closed:
            raise StoreClosed("the memory is closed; open it again")
        return {
            "method": request.verb,
            "url": self._settings.url + request.path,
            "params": request.query or None,
            "headers": dict(request.headers),
        }

    def _trace(self, request: Request, started: float) -> None:
        """Write a line of the trace if that is on."""
        if self._settings.trace is not None:
            elapsed_ms = (time.perf_counter() - started) * 1e3
            self._settings.trace(f"{elapsed_ms:8.2f} ms  {request.verb} {request.path}")

    def _failure(self, problem: Exception) -> tuple[StoreError, bool]:
        """The error for a request without an answer, and whether a server may have got it."""
        url = self._settings.url
        if isinstance(problem, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout):
            if _is_plain(problem):
                return StoreError(f"{url} does not encrypt; begin the address with http://"), False
            remedy = "start it with `salience serve`, or check the address"
            return StoreError(f"no server answers at {url}{by_proxy(url)}; {remedy}"), False
        brief = type(problem).__name__
        if isinstance(problem, httpx.TimeoutException):
            seconds = self._settings.timeout
            waited = f"gave no answer within {seconds:g} s{by_proxy(url)}"
            return StoreError(f"{url} {waited} ({brief})"), True
        what = f"the connection to {url}{by_proxy(url)}"
        return StoreError(f"{what} broke off ({brief}: {problem})"), True


def _is_plain(problem: BaseException | None) -> bool:
    """Test whether a connection failed because what answers does not encrypt."""
    while problem is not None:
        if "WRONG_VERSION_NUMBER" in str(problem) or "RECORD_LAYER_FAILURE" in str(problem):
            return True
        problem = problem.__cause__ or problem.__context__
    return False


def _json(response: httpx.Response) -> Any:
    """The JSON of an answer, None for an empty one; text that is none is an error of the server."""
    if not response.content:
        return None
    try:
        return response.json()
    except ValueError:
        if response.is_success:
            raise StoreError(f"{response.url.host} answers, but not as a memory does") from None
        return None


def _code(members: Any) -> str:
    """The code of a problem; "" where there is none."""
    return str(members.get("code", "")) if isinstance(members, dict) else ""
