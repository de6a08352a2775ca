"""Everything out of a namespace and back, as lines of JSON."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from typing import IO, cast

from starlette.responses import Response, StreamingResponse

from salience.engine.memory import Memory
from salience.server.encoding import NDJSON, answer, nothing
from salience.server.models.arguments import Arguments
from salience.server.operation import (
    TRANSFER,
    WRITE,
    Answer,
    Call,
    check_everywhere,
    operation,
)
from salience.server.routes.pipe import Pipe
from salience.write.outcomes import Transferred

TAG = "Transfer"
_MEMORY_BYTES = 8 << 20  # of an upload that is kept in memory; a longer one goes to a file


@operation(
    "GET",
    "/export",
    Memory.export,
    scope=TRANSFER,
    tag=TAG,
    query=Arguments.of("ExportQuery", Memory.export, without=("target",)),
    answers={
        200: Answer(description="Lines of JSON.", body=str, content_type=NDJSON),
    },
    errors=(404,),
)
async def export(call: Call) -> Response:
    """Export everything."""
    check_everywhere(call)
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


@operation(
    "POST",
    "/import",
    Memory.import_,
    scope=TRANSFER,
    tag=TAG,
    query=Arguments.of("ImportQuery", Memory.import_, without=("source",)),
    body_type=NDJSON,
    answers={200: Answer(description="How much was written.", body=Transferred)},
    errors=(404, 409),
)
async def import_(call: Call) -> Response:
    """Import an export into an empty namespace."""
    check_everywhere(call)
    with tempfile.SpooledTemporaryFile(_MEMORY_BYTES) as file:
        async for chunk in call.request.stream():
            file.write(chunk)
        file.seek(0)
        return answer(await call.memory.import_(file, **call.arguments))


@operation(
    "POST",
    "/flush",
    Memory.flush,
    scope=WRITE,
    tag=TAG,
    answers={204: Answer(description="All accesses are written.")},
)
async def flush(call: Call) -> Response:
    """Write the accesses that are queued."""
    await call.memory.flush()
    return nothing()
