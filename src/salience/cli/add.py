"""Commands that write: add, update and delete."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import typer

from salience.cli import output
from salience.cli.operations import parameters_of, with_whole_ids
from salience.cli.settings import Settings, parse_json
from salience.errors import InvalidInput
from salience.records.field_filters import with_fields
from salience.records.fields import FIELDS
from salience.records.filters import PERSON
from salience.retrieval.erasure import Erased, ErasureReceipt


@parameters_of("add", without=("content",))
def add(
    settings: Settings,
    text: str,
    on_conflict: Literal["error", "replace", "skip"] = "error",
    extract: str | None = None,
    dedup: bool | None = None,
    **fields: Any,
) -> None:
    """Remember a text."""
    fields |= {"on_conflict": on_conflict, "extract": extract, "dedup": dedup}
    content = _from_stdin() if text == "-" else text
    with settings.open(make=True) as memory:
        result = memory.add(content, **{n: v for n, v in fields.items() if v is not None})
    output.degraded(result.degraded)
    for item in result.items:
        if item.outcome != "ADDED":
            output.note(" ".join(filter(None, (item.outcome, item.match, item.reason))))
        if item.settled_by is not None:
            output.note(f"to settle it: salience supersede {shlex.join(item.settled_by)}")
        if item.forgets:
            ids = shlex.join((*item.forgets, item.id or ""))
            output.note(f"asks to forget: salience archive {ids} (or delete, to erase)")
        if item.may_replace is not None:
            old, new = shlex.quote(item.may_replace), shlex.quote(str(item.id))
            output.note(f"it may replace {item.may_replace} (chance {item.chance:.2f})")
            output.note(f"if it does: salience supersede {old} {new}")
            output.note(f"if both hold: salience link {new} {old} --type may_replace --weight 0")
        if item.secret is not None:
            output.note(f"{item.id} seems to hold a {item.secret}: salience delete {item.id}")
    output.pending(result.pending)
    if not output.emitted(settings, result):
        output.say(result.id)


def update(
    settings: Settings,
    id: str,
    text: str | None = None,
    set_: list[str] | None = None,
    metadata: str | None = None,
    replace_metadata: str | None = None,
    if_version: int | None = None,
) -> None:
    """Change the text or fields of a memory."""
    changes_by_field = dict(_parse_assignment(change) for change in set_ or ())
    for name, keys in (("metadata", metadata), ("replace_metadata", replace_metadata)):
        if keys is not None:
            changes_by_field[name] = parse_json(name, keys)
    if text is not None:
        changes_by_field["content"] = _from_stdin() if text == "-" else text
    if not changes_by_field:
        raise InvalidInput("update", "has nothing to change", "give a text, --set or --metadata")
    with settings.open() as memory:
        id = with_whole_ids(memory, {"id": id})["id"]
        changed = memory.update(id, if_version=if_version, **changes_by_field)
    output.tell(settings, changed, changed.id)


def _parse_assignment(change: str) -> tuple[str, Any]:
    """A field and its value: texts and times as they are, a list of one text, or JSON."""
    name, sign, value = change.partition("=")
    if not sign:
        raise InvalidInput("set", f"{change!r} is not a change", "write it as importance=0.8")
    kind = FIELDS[name].type if name in FIELDS else "text"
    if not value:
        return name, None
    if kind in ("text", "time") or (kind == "list" and not value.startswith("[")):
        return name, value
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        raise InvalidInput(name, f"is {value!r}", "write its value as JSON") from None


def _from_stdin() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        raise InvalidInput("text", "from stdin is not UTF-8", "convert it first") from None


@parameters_of("count", without=("archived", "as_of", "user_id"))
def delete(
    settings: Settings,
    ids: list[str] | None = None,
    user: str | None = None,
    all_: bool = False,
    yes: bool = False,
    if_version: int | None = None,
    rewrite: bool = False,
    **options: Any,
) -> None:
    """Erase memories by id, filter or user, or the whole namespace.

    All but ids print a receipt: what was erased, and how that was checked.
    """
    filters = with_fields(options).get("filters")
    if sum((bool(ids), filters is not None, user is not None, all_)) != 1:
        raise InvalidInput("delete", "has nothing to erase", "give ids, --filter, --user or --all")
    if if_version is not None and len(ids or ()) != 1:
        raise InvalidInput("if-version", "is of one memory", "give one id with it")
    if rewrite and ids:
        problem = "goes with --filter, --user or --all"
        raise InvalidInput("rewrite", problem, "leave out the ids")
    if filters == {}:
        raise InvalidInput("filter", "is empty and matches every memory", "use --all for that")
    missing, receipt = [], None
    restored: tuple[str, ...] = ()
    with settings.open(embeds=False) as memory:
        if not ids and not yes:
            chosen = filters if user is None else {PERSON: user}
            whose = "" if user is None else f" of {user}"
            _confirm(settings, memory.count(chosen), whose, memory.namespace)
        with output.progress("what was erased is gone; run it again for the rest"):
            if ids:
                ids = with_whole_ids(memory, {"ids": ids})["ids"]
                records = zip(ids, memory.get_many(ids), strict=True)
                missing = list(dict.fromkeys(id for id, record in records if record is None))
                erased = (
                    memory.delete_many(ids)
                    if if_version is None
                    else memory.delete(ids[0], if_version=if_version)
                )
                restored = erased.restored
            elif user is not None:
                receipt = memory.delete_user(user, rewrite=rewrite)
            else:
                receipt = memory.delete_all(
                    filters, namespace=None if filters else memory.namespace, rewrite=rewrite
                )
    if receipt is not None:
        erased, restored = Erased(receipt.memories), receipt.restored
    for id in missing:
        output.note(f"there is no memory {id!r}")
    if settings.json:
        receipt_values = None if receipt is None else receipt.to_dict()
        counts = {"deleted": int(erased), "missing": missing, "receipt": receipt_values}
        output.emit({**counts, "restored": list(restored)})
    else:
        output.say(f"{int(erased):,} deleted")
        if restored:
            ids_text = _joined_ids(restored)
            output.say(f"hold again, as what superseded or merged them is gone: {ids_text}")
        for line in _receipt_lines(receipt) if receipt is not None else ():
            output.say(line)
    if missing or (not erased and (filters or user)):
        raise typer.Exit(1)


_NAMED = 20  # ids in a line


def _joined_ids(ids: Sequence[str]) -> str:
    more = len(ids) - _NAMED
    return ", ".join(ids[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _receipt_lines(receipt: ErasureReceipt) -> Iterator[str]:
    """The lines of a receipt for people."""
    counts = {kind.replace("_", " "): n for kind, n in receipt.erased.items() if n}
    if counts:
        yield "erased: " + ", ".join(f"{n:,} {kind}" for kind, n in counts.items())
        yield f"checked: {sum(receipt.remaining.values())} of them found again. {receipt.check}"
    if receipt.naming:
        yield f"{receipt.user_id} is still named in: {_joined_ids(receipt.naming)}"
    yield f"on disk: {receipt.disk}"
    yield receipt.untouched


def _confirm(settings: Settings, count: int, whose: str, namespace: str) -> None:
    if settings.json:
        raise InvalidInput(
            "yes", "is needed with --json, which cannot ask for confirmation", "add --yes"
        )
    memories = "1 memory" if count == 1 else f"{count:,} memories"
    question = f"Erase {memories}{whose}, in the namespace {namespace!r}, for good?"
    print(question, "[y/N]", end=" ", file=sys.stderr, flush=True)
    if sys.stdin.buffer.readline().strip().lower() not in (b"y", b"yes"):
        output.note("nothing was erased")
        raise typer.Exit(1)
