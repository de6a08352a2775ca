"""Upkeep: zones, archive, pruning, consolidation, maintenance, audit and undo."""

from __future__ import annotations

from starlette.responses import Response

from salience.engine.memory import Memory
from salience.lifecycle.audit import Audit
from salience.lifecycle.consolidation import Consolidation
from salience.lifecycle.maintenance import Maintenance
from salience.lifecycle.pruning import Pruning
from salience.lifecycle.undo import Undone
from salience.lifecycle.verify import Verification
from salience.lifecycle.zone_history import ZoneHistory
from salience.lifecycle.zones import Zones
from salience.server.encoding import answer, large_answer
from salience.server.models.arguments import Argument, Arguments
from salience.server.operation import READ, UPKEEP, Answer, Call, operation

TAG = "Upkeep"
_DRY_RUN = Argument(bool, "False to do it; otherwise it is shown, and nothing changes.", True)


@operation(
    "GET",
    "/zones",
    Memory.zones,
    scope=READ,
    tag=TAG,
    query=Arguments.of("ZonesQuery", Memory.zones),
    answers={200: Answer(description="The memories, the liveliest first.", body=Zones)},
)
async def zones(call: Call) -> Response:
    """Label memories by their vitality."""
    return await large_answer(await call.memory.zones(**call.arguments))


@operation(
    "POST",
    "/zones",
    Memory.zones,
    scope=READ,
    tag=TAG,
    body=Arguments.of("ZonesRequest", Memory.zones),
    needs_body=False,
    answers={200: Answer(description="The memories, the liveliest first.", body=Zones)},
    example={"filters": {"kind": "note"}},
)
async def zones_filtered(call: Call) -> Response:
    """Label memories that pass a filter by their vitality."""
    return await large_answer(await call.memory.zones(**call.arguments))


@operation(
    "POST",
    "/zones/shares",
    Memory.zone_shares,
    scope=READ,
    tag=TAG,
    body=Arguments.of("ZoneSharesRequest", Memory.zone_shares),
    needs_body=False,
    answers={200: Answer(description="The counts at each time.", body=ZoneHistory)},
    example={"points": 12},
)
async def zone_shares(call: Call) -> Response:
    """Count the memories in each zone at several times."""
    return await large_answer(await call.memory.zone_shares(**call.arguments))


@operation(
    "POST",
    "/archive",
    Memory.archive,
    scope=UPKEEP,
    tag=TAG,
    body=Arguments.of("ArchiveRequest", Memory.archive),
    answers={
        200: Answer(
            description="The run, for undo; null if all were archived already.",
            body={"run": str | None},
        )
    },
    errors=(404,),
    example={"ids": ["note-1"]},
)
async def archive(call: Call) -> Response:
    """Move memories to the archive."""
    return answer({"run": await call.memory.archive(**call.arguments)})


@operation(
    "POST",
    "/restore",
    Memory.restore,
    scope=UPKEEP,
    tag=TAG,
    body=Arguments.of("RestoreRequest", Memory.restore),
    answers={
        200: Answer(
            description="The status that each memory has again, by id.",
            body={"restored": dict[str, str]},
        )
    },
    errors=(404,),
    example={"ids": ["note-1"]},
)
async def restore(call: Call) -> Response:
    """Bring memories back from the archive."""
    return answer({"restored": dict(await call.memory.restore(**call.arguments))})


@operation(
    "POST",
    "/prune",
    Memory.prune,
    scope=UPKEEP,
    tag=TAG,
    body=Arguments.of("PruneRequest", Memory.prune),
    needs_body=False,
    answers={200: Answer(description="The candidates; archived if applied.", body=Pruning)},
    example={"apply": False, "cap": 10},
)
async def prune(call: Call) -> Response:
    """Archive faded memories, or preview that."""
    return await large_answer(await call.memory.prune(**call.arguments))


@operation(
    "POST",
    "/consolidate",
    Memory.consolidate,
    scope=UPKEEP,
    tag=TAG,
    body=Arguments.of("ConsolidateRequest", Memory.consolidate),
    needs_body=False,
    answers={200: Answer(description="The clusters; merged if applied.", body=Consolidation)},
    example={"apply": False},
)
async def consolidate(call: Call) -> Response:
    """Merge memories that say the same, or preview that."""
    return await large_answer(await call.memory.consolidate(**call.arguments))


@operation(
    "POST",
    "/maintain",
    Memory.maintain,
    scope=UPKEEP,
    tag=TAG,
    body=Arguments.of("MaintainRequest", Memory.maintain, plus={"dry_run": _DRY_RUN}),
    needs_body=False,
    answers={200: Answer(description="The changes, step by step.", body=Maintenance)},
    errors=(409,),
    example={"dry_run": True},
)
async def maintain(call: Call) -> Response:
    """Do what is due, or show it."""
    return answer(await call.memory.maintain(**{"dry_run": True, **call.arguments}))


@operation(
    "POST",
    "/undo",
    Memory.undo,
    scope=UPKEEP,
    tag=TAG,
    body=Arguments.of("UndoRequest", Memory.undo),
    answers={200: Answer(description="The memories restored and erased.", body=Undone)},
    errors=(404,),
    example={"run": "prune-2026-06-01"},
)
async def undo(call: Call) -> Response:
    """Take back what a run changed."""
    call.request.state.erased_in = call.namespace  # what the run wrote is erased
    return answer(await call.memory.undo(**call.arguments))


@operation(
    "POST",
    "/audit",
    Memory.audit,
    scope=UPKEEP,
    tag=TAG,
    body=Arguments.of("AuditRequest", Memory.audit),
    needs_body=False,
    answers={200: Answer(description="The findings.", body=Audit)},
    example={"mend": []},
)
async def audit(call: Call) -> Response:
    """Count duplicates, junk and other findings."""
    return await large_answer(await call.memory.audit(**call.arguments))


@operation(
    "POST",
    "/verify",
    Memory.verify,
    scope=UPKEEP,
    tag=TAG,
    body=Arguments.of("VerifyRequest", Memory.verify),
    needs_body=False,
    answers={200: Answer(description="The differences.", body=Verification)},
    example={"repair": False},
)
async def verify(call: Call) -> Response:
    """Compare every memory with its log."""
    return await large_answer(await call.memory.verify(**call.arguments))
