"""Everything out of a namespace and back, as lines of JSON."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from typing import IO, cast

from starlette.responses import Response, StreamingResponse

from salience.server.encoding import NDJSON, answer
from salience.server.operation import Answer, Call, answers, check_reach
from salience.server.routes.pipe import Pipe

_MEMORY_BYTES = 8 << 20  # of an upload that is kept in memory; a longer one goes to a file


@answers(
    "export",
    answers={200: Answer(description="Lines of JSON.", body=str, content_type=NDJSON)},
)
async def export(call: Call) -> Response:
    """Send what an export writes, as it is written."""
    check_reach(call)
    pipe = Pipe(asyncio.get_running_loop())
    writing = asyncio.create_task(
        pipe.filled_by(call.memory.export(cast(IO[bytes], pipe), **call.arguments))
    )
    try:
        first = await anext(pipe)  # an error before it is answered as a problem
    except BaseException:
        pipe.close()
        raise

    async def chunks() -> AsyncIterator[bytes]:
        try:
            yield first
            async for chunk in pipe:
                yield chunk
        finally:
            pipe.close()
            await writing

    return StreamingResponse(chunks(), media_type=NDJSON)


@answers("import_", body_type=NDJSON)
async def import_(call: Call) -> Response:
    """Take all lines, and then write them."""
    check_reach(call)
    with tempfile.SpooledTemporaryFile(_MEMORY_BYTES) as file:
        async for chunk in call.request.stream():
            file.write(chunk)
        file.seek(0)
        return answer(await call.memory.import_(file, **call.arguments))
