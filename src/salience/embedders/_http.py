"""JSON over HTTP, sent again after failures that may pass."""

from __future__ import annotations

import logging
import random
import re
import time
from datetime import UTC, datetime
from threading import Lock
from typing import Any

from salience.embedders._batching import import_extra
from salience.errors import EmbedderError, InvalidInput
from salience.forks import by_proxy, connected, leave_to_parent, renew_after_fork
from salience.lazily import dataclass

MAX_WAIT_SECONDS = 60.0
"""The longest wait between tries; a server that asks for a longer one is given up."""

MAX_SILENCE_SECONDS = 5.0
"""The time after which a server that gives no sign at all is not tried again."""

PUBLIC_ENDPOINT = "https://api.openai.com/v1"

_log = logging.getLogger(__name__)
_RETRIED_STATUSES = frozenset({408, 429})
_EXCERPT_CHARS = 300


def endpoint_url(base_url: str) -> str:
    """The address of an API, without a slash at its end.

    Raises:
        InvalidInput: it is no http(s) URL.
    """
    if not re.fullmatch(r"https?://[^\s/?#]+(/[^\s?#]*)?", base_url):
        raise InvalidInput("base_url", "is not an http(s) URL", "e.g. http://localhost:8080/v1")
    return base_url.rstrip("/")


def bearer_key(api_key: str, url: str) -> str | None:
    """The key to send to an address; None for none, which only the public endpoint refuses.

    Raises:
        EmbedderError: the public endpoint needs a key.
        InvalidInput: no header can carry it.
    """
    key = api_key.strip()
    if not key:
        if url == PUBLIC_ENDPOINT:
            raise EmbedderError(
                f"{PUBLIC_ENDPOINT} needs an API key: pass api_key or set OPENAI_API_KEY"
            )
        return None
    if not all("!" <= letter <= "~" for letter in key):
        # Refused here: the error an HTTP library raises for such a header quotes it.
        raise InvalidInput("api_key", "has characters that no HTTP header can carry")
    return key


@dataclass(frozen=True)
class Retries:
    """The k-th wait, k = 0, 1, ...: max(min(60, base 2^k) u, Retry-After), u uniform in [0.5, 1).

    `count` is the number of tries after the first; `base` is in seconds.
    """

    count: int
    base: float

    def wait_seconds(self, k: int, retry_after: float) -> float:
        """Seconds to wait after the (k+1)-th failure; `retry_after` is what the server wants."""
        backoff = min(MAX_WAIT_SECONDS, self.base * 2.0 ** min(k, 30)) * random.uniform(0.5, 1.0)
        return max(backoff, retry_after)


class JsonPoster:
    """post(payload) = the server's decoded answer, or EmbedderError.

    Sent again after status 408, 429 and every 5xx, after timeouts, and after connections that are
    refused or break. Any other status is raised at once with the server's own message, and so is
    a quota that is used up, as waiting does not help. Messages never contain the key or the user
    part of the URL.

    Args:
        url: the address to post to.
        key: sent as a bearer token; None sends none.
        timeout: seconds of silence, per connection attempt and per read or write.
        retries: the number of further tries and the waits in between.
        extra: the name of the extra that installs httpx.
    """

    def __init__(
        self, url: str, key: str | None, timeout: float, retries: Retries, extra: str
    ) -> None:
        self._url = url
        self._key = key
        self._timeout = timeout
        self._retries = retries
        self._httpx = import_extra("httpx", extra)
        try:
            self._host = self._httpx.URL(url).host
        except self._httpx.InvalidURL as problem:
            raise InvalidInput("base_url", f"is not a URL: {problem}", "check its host") from None
        self._lock = Lock()
        self._client: Any = None
        renew_after_fork(self)

    def post(self, payload: dict[str, Any], patience: float = 1.0) -> Any:
        """The answer's JSON. Raises EmbedderError as the class says. Threads may share it.

        The timeout is `patience` times that of the class.
        """
        client = self._open_client()
        seconds = patience * self._timeout
        timeout = self._httpx.Timeout(seconds, connect=min(seconds, MAX_SILENCE_SECONDS))
        started = time.monotonic()
        for k in range(self._retries.count + 1):
            retry_after, is_silent = 0.0, False
            try:
                response = client.post(self._url, json=payload, timeout=timeout)
            except (
                self._httpx.TimeoutException,
                self._httpx.NetworkError,
                self._httpx.RemoteProtocolError,
            ) as error:
                # With the class, as the message of a timeout is often empty.
                brief, is_silent = type(error).__name__, True
                problem = f"{brief}: {error}"
            except self._httpx.HTTPError as error:
                brief = type(error).__name__
                raise self._error(f"{brief}: {error}", brief) from None
            else:
                if response.is_success:
                    return self._decode(response)
                brief = f"status {response.status_code}"
                problem = f"{brief}: {_message(response)}"
                if not _is_transient(response):
                    raise self._error(problem, brief)
                retry_after = _retry_after(response.headers.get("retry-after"))
            if retry_after > MAX_WAIT_SECONDS:
                raise self._error(f"{problem} (asks to wait {retry_after:.0f} s)", brief)
            wait = self._retries.wait_seconds(k, retry_after)
            elapsed = time.monotonic() - started
            if k == self._retries.count or (is_silent and elapsed + wait > MAX_SILENCE_SECONDS):
                break
            _log.info("%s: %s; trying again in %.1f s", self._host, brief, wait)
            time.sleep(wait)
        raise self._error(f"gave up after {k + 1} tries; {problem}", brief)

    def close(self) -> None:
        """Close the connections; a later `post` opens new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def after_fork(self) -> None:
        """Open connections of its own, in the copy of a process."""
        leave_to_parent(self._client)
        self._client, self._lock = None, Lock()

    def _open_client(self) -> Any:
        with self._lock:
            if self._client is None:
                headers = {} if self._key is None else {"Authorization": f"Bearer {self._key}"}
                self._client = connected(
                    self._httpx.Client,
                    self._httpx,
                    self._url,
                    timeout=self._timeout,
                    headers=headers,
                )
            return self._client

    def _decode(self, response: Any) -> Any:
        try:
            return response.json()
        except ValueError:
            problem = "answered what is not JSON"
            raise self._error(f"{problem}: {_excerpt(response.text)}", problem) from None

    def _error(self, problem: str, brief: str) -> EmbedderError:
        # Servers echo keys back, and chained exceptions may hold the request: hence `from None`.
        message = problem if self._key is None else problem.replace(self._key, "***")
        host = f"{self._host}{by_proxy(self._url)}"
        return EmbedderError(f"{host}: {message}", f"{host}: {brief}")


def _is_transient(response: Any) -> bool:
    if response.status_code == 429 and "insufficient_quota" in response.text:
        return False
    return response.status_code in _RETRIED_STATUSES or response.status_code >= 500


def _message(response: Any) -> str:
    """The server's words: `error.message`, `error`, `message` or `detail`, else the bare body."""
    try:
        body = response.json()
    except ValueError:
        body = response.text
    for name in ("error", "message", "detail"):
        if isinstance(body, dict) and body.get(name):
            body = body[name]
    return _excerpt(str(body))


def _excerpt(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _EXCERPT_CHARS else flat[:_EXCERPT_CHARS] + "..."


def _retry_after(header: str | None) -> float:
    """Seconds from a Retry-After header, given in seconds or as an HTTP date; else 0."""
    if not header:
        return 0.0
    from email.utils import parsedate_to_datetime  # imports what few programs need

    try:
        seconds = float(header)
    except ValueError:
        try:
            moment = parsedate_to_datetime(header)
        except ValueError:
            return 0.0
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds = (moment - datetime.now(UTC)).total_seconds()
    return seconds if seconds > 0.0 else 0.0
