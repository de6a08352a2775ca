"""The server itself: its health, version and document."""

from __future__ import annotations

from starlette.responses import Response

from salience.server.encoding import answer
from salience.server.operation import Answer, Call, operation

TAG = "Server"


@operation(
    "GET",
    "/health",
    scope=None,
    tag=TAG,
    answers={200: Answer(description="The process answers.", body={"status": str})},
)
async def health(call: Call) -> Response:
    """Tell that the process answers."""
    return answer({"status": "ok"})
