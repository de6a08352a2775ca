"""Header fields of every answer, which tell browsers and caches to take no liberties with it."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_ALWAYS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_POLICY = b"content-security-policy"
_DATA_POLICY = (_POLICY, b"default-src 'none'; frame-ancestors 'none'")
_PAGE_POLICY = (_POLICY, b"frame-ancestors 'none'; base-uri 'none'; object-src 'none'")


class ResponseHeaders:
    """Middleware that adds these fields, except those that the answer has of its own."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def completed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message.get("headers", ()))
                own = dict(headers)
                is_page = own.get(b"content-type", b"").startswith(b"text/html")
                added = (*_ALWAYS, _PAGE_POLICY if is_page else _DATA_POLICY)
                headers += [field for field in added if field[0] not in own]
                message["headers"] = headers
            await send(message)

        await self.app(scope, receive, completed)
