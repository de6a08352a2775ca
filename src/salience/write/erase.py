"""Erasing memories by a filter, or all of a namespace, with a receipt."""

from __future__ import annotations

from dataclasses import replace

from salience.retrieval.erasure import Erasure, ErasureReceipt
from salience.retrieval.operations import Delete, Rewrite
from salience.retrieval.plan import Plan, ask


def erase(op: Delete, *, rewrite: bool = False) -> Plan[ErasureReceipt]:
    """The plan of erasing; with `rewrite`, the whole store is rewritten afterwards.

    Raises:
        StoreError: not all was erased, or it is, but the store could not be rewritten.
    """
    erasure: Erasure = yield from ask(op)
    receipt = ErasureReceipt(
        op.namespace,
        op.erasing.at,
        erasure.erased,
        erasure.remaining,
        erasure.disk,
        user_id=op.user_id,
    )
    if not rewrite:
        return receipt
    disk = yield from ask(Rewrite())
    return replace(receipt, disk=disk, rewritten=True)
