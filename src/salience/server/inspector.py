"""The inspector's page: files that hold no data, need no key, and load nothing from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

PATH = "/ui"
_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript"}
_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
_COMMENT = re.compile(rb"^[ \t]*(?://[^\n]*|/\*\*.*?\*/)$", re.MULTILINE | re.DOTALL)
_HEADERS = {"Content-Security-Policy": _POLICY, "Cross-Origin-Opener-Policy": "same-origin"}


@cache
def pages() -> Mapping[str, Callable[[Request], Awaitable[Response]]]:
    """The function that answers each path of the page; the folder itself is its index."""
    endpoints = dict[str, Callable[[Request], Awaitable[Response]]]()

    def enter(folder: Traversable, path: str) -> None:
        for entry in folder.iterdir():
            kind = _TYPES.get(entry.name.rpartition(".")[2])
            if entry.is_dir():
                enter(entry, f"{path}{entry.name}/")
            elif kind is not None:
                name = path if entry.name == "index.html" else path + entry.name
                endpoints[name] = _file(sent(entry), kind)

    enter(files(__package__).joinpath("ui"), f"{PATH}/")
    return endpoints | {PATH: _to_index}


def sent(file: Traversable) -> bytes:
    """A file as it is sent: a script without its comments, which are for readers of the source."""
    content = file.read_bytes()
    if not file.name.endswith(".js"):
        return content
    return _COMMENT.sub(lambda comment: b"\n" * comment[0].count(b"\n"), content)


def _file(content: bytes, kind: str) -> Callable[[Request], Awaitable[Response]]:
    async def answered(request: Request) -> Response:
        return Response(content, headers=_HEADERS, media_type=kind)

    return answered


async def _to_index(request: Request) -> Response:
    return RedirectResponse(f"{PATH.removeprefix('/')}/", headers=_HEADERS)
