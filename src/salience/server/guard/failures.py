"""Errors that nothing else answered."""

from __future__ import annotations

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from salience.server.problems import ProblemResponse, log_failure, request_id


class AnswerAborted(Exception):
    """An answer broke off after it had begun, so the connection has to be closed."""


class AnswerFailures:
    """Middleware that answers an error by its problem, and logs it under the id of the request.

    The rest of an answer that has begun is not made up: the connection is closed instead, and the
    client sees that something is missing.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = complete = False

        async def watched(message: Message) -> None:
            nonlocal begun, complete
            begun = True
            complete = not (
                message["type"] == "http.response.start" or message.get("more_body", False)
            )
            await send(message)

        try:
            await self.app(scope, receive, watched)
        except ClientDisconnect:
            pass  # nobody waits for an answer
        except Exception as error:
            if not begun:
                await ProblemResponse(error)(scope, receive, send)
                return
            log_failure(request_id(scope), error)
            if not complete:
                raise AnswerAborted(f"request {request_id(scope)}: see the log") from None
