"""The work behind a hook: find the project, recall for the agent, keep what was settled."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

from salience.closing import Closing
from salience.coding_agents.events import HookEvent, log_event, log_failure, open_log
from salience.coding_agents.paths import EMBEDDER_VARIABLE, data_file
from salience.coding_agents.project import Project, Session, find_project, forget_old_sessions
from salience.coding_agents.recall import (
    NOTHING,
    TAG,
    Briefing,
    Limits,
    recall_at_start,
    recall_for_prompt,
)
from salience.coding_agents.reversals import supersede_reversed
from salience.coding_agents.statements import Statement, statements
from salience.coding_agents.transcripts import Turn, read_turns
from salience.engine.memory import Memory
from salience.errors import SalienceError, StoreError
from salience.language.reader import to_forget
from salience.language.tokens import words
from salience.records.record import MemoryRecord
from salience.records.time_zone import TIME_ZONE_VARIABLE
from salience.remote.settings import KEY_VARIABLE
from salience.stores.address import DB_VARIABLE, SQLITE, public_url, remote_scheme, store_url

_RETRY_SECONDS = 10.0  # a server that is away takes a second or two to be found so


class Handler(Closing):
    """Answers events; it keeps the stores open that they name. Threads may share it."""

    def __init__(self) -> None:
        self._memories: dict[tuple[str, ...], Memory] = {}
        self._lock = threading.Lock()
        self._failures: dict[tuple[str, ...], tuple[float, SalienceError | None]] = {}
        self._sessions: dict[tuple[str, str], threading.Lock] = {}
        open_log()
        forget_old_sessions()

    @property
    def stores(self) -> list[str]:
        """The addresses of the stores that are open, without passwords."""
        return sorted({public_url(key[0]) for key in self._memories})

    def answer(self, message: Mapping[str, Any]) -> dict[str, str]:
        """The output and the note of an event: any failure is a note."""
        start, name = time.perf_counter(), str(message.get("event"))
        try:
            event = HookEvent.of(message)
            project = find_project(event.folder, message["environment"])
            if project.is_off:
                return {}
            with self._session_lock(event):
                output, counts = self._handle(event, project, message)
        except Exception as problem:
            log_failure(name, problem)
            reason = str(problem) if isinstance(problem, SalienceError | OSError) else "see the log"
            return {"note": f"{name}: {type(problem).__name__}: {reason}"}
        milliseconds = round(1_000 * (time.perf_counter() - start))
        log_event(name, agent=event.agent, ms=milliseconds, **counts)
        return {"output": output}

    def warm(self, message: Mapping[str, Any]) -> None:
        """Load the embedder and the index, so that the first prompt need not wait for them."""
        with suppress(Exception):  # the prompt says it
            project = find_project(HookEvent.of(message).folder, message["environment"])
            if not project.is_off:
                memory = self._memory(_store_key(message["environment"], message["cwd"]))
                memory.for_namespace(project.namespaces[0]).search("warm", limit=1, touch=False)

    def close(self) -> None:
        """Close all stores."""
        for memory in self._memories.values():
            memory.close()
        self._memories.clear()

    def _handle(
        self, event: HookEvent, project: Project, message: Mapping[str, Any]
    ) -> tuple[str, dict[str, int]]:
        environment = message["environment"]
        key = _store_key(environment, message["cwd"])
        was_open = key in self._memories
        try:
            return self._with(self._memory(key), event, project, environment)
        except StoreError:
            self._drop(key)
            if not was_open:
                raise
            # Such as a file that was replaced, or a server that restarted.
            return self._with(self._memory(key), event, project, environment)

    def _with(
        self, memory: Memory, event: HookEvent, project: Project, environment: Mapping[str, str]
    ) -> tuple[str, dict[str, int]]:
        session, limits = Session.load(event.agent, event.session), Limits.of(environment)
        note = NOTHING
        if event.name == "session-start":
            if event.starts_anew:
                session.told = []
            note = recall_at_start(memory, project.namespaces, limits)
        elif event.name == "prompt":
            note = recall_for_prompt(memory, project.namespaces, event.prompt, session.told, limits)
        count = _keep(memory, event, project, session)
        if event.name == "pre-compact":
            session.told = []
        session.told += [id for id in note.ids if id not in session.told]
        session.save()
        _count_uses(memory, note)
        return event.answer(note.text), {"kept": count, "told": len(note.ids)}

    def _memory(self, key: tuple[str, ...]) -> Memory:
        """The memory of a store; one that could not be opened is not tried again at once."""
        with self._lock:
            if key not in self._memories:
                failed_at, problem = self._failures.get(key, (0.0, None))
                if problem is not None and time.monotonic() - failed_at < _RETRY_SECONDS:
                    raise problem
                try:
                    self._memories[key] = _open(*key)
                except SalienceError as problem:
                    self._failures[key] = (time.monotonic(), problem.with_traceback(None))
                    raise
                self._failures.pop(key, None)
            return self._memories[key]

    def _drop(self, key: tuple[str, ...]) -> None:
        with self._lock:
            memory = self._memories.pop(key, None)
        if memory is not None:
            memory.close()

    def _session_lock(self, event: HookEvent) -> threading.Lock:
        with self._lock:
            return self._sessions.setdefault((event.agent, event.session), threading.Lock())


def _store_key(environment: Mapping[str, str], folder: str) -> tuple[str, ...]:
    """The address of the store, the key of a server, the embedder, and the time zone.

    A relative path is one in the folder where the hook runs.
    """
    url = store_url(environment.get(DB_VARIABLE) or data_file())
    path = url.removeprefix(SQLITE)
    if path != url and not path.startswith(":memory:"):
        url = SQLITE + os.path.join(folder, path)
    names = (KEY_VARIABLE, EMBEDDER_VARIABLE, TIME_ZONE_VARIABLE)
    return (url, *(environment.get(name, "") for name in names))


def _open(url: str, api_key: str, embedder: str, zone: str) -> Memory:
    if remote_scheme(url):
        return Memory.open(url, api_key=api_key or None, time_zone=zone or None)
    if url == SQLITE + data_file():
        os.makedirs(os.path.dirname(data_file()), mode=0o700, exist_ok=True)
    if embedder:
        chosen = None if embedder == "none" else embedder
        return Memory.open(url, embedder=chosen, time_zone=zone or None)
    return Memory.open(url, time_zone=zone or None)


def _count_uses(memory: Memory, brief: Briefing) -> None:
    """Count a use of each memory that was told, so that upkeep knows which are worth keeping."""
    for namespace in dict.fromkeys(record.namespace for record in brief.memories):
        ids = [record.id for record in brief.memories if record.namespace == namespace]
        memory.for_namespace(namespace).touch(ids, "retrieval")


def _keep(memory: Memory, event: HookEvent, project: Project, session: Session) -> int:
    """Keep what was settled since the last hook of the session; the number of new memories.

    The agent knows it, so it counts as told.
    """
    if event.name == "session-start":
        return 0
    if event.name == "prompt" and event.transcript is not None:
        return 0  # it is in the transcript, which is read when the agent stops
    turns, first, end = _new_turns(event, session)
    numbers, number = [], session.turns
    for index, turn in enumerate(turns):
        number += index >= first and turn.role == "user" and bool(turn.text)
        numbers.append(number)
    items = [
        _item(statement, numbers[statement.turn], turns[statement.turn], event)
        for statement in statements(turns, first)
        if not to_forget(statement.text)
    ]
    added = 0
    for turn in turns[first:]:
        if turn.role == "user":
            _forget(memory.for_namespace(project.namespaces[0]), turn.text, event)
    if items:
        target = memory.for_namespace(project.namespaces[0])
        for item, said_before in zip(items, target.get_many([i["id"] for i in items]), strict=True):
            if said_before is not None and _is_said_again(item, said_before):
                item["id"] = f"{item['id']}-{_digest(event.session, item['metadata']['turn'])}"
        new = target.add_many(items, on_conflict="skip").ids  # a wrong one costs itself alone
        supersede_reversed(target, new)
        added = len(new)
        session.told += [item["id"] for item in items if item["id"] not in session.told]
    session.turns = number
    if event.transcript is not None:
        session.transcript = str(event.transcript)
        if end > session.read:
            session.before, session.read = session.read, end
    return added


def _forget(memory: Memory, text: str, event: HookEvent) -> None:
    """Retire what sentences of a user ask to be forgotten, each once in a session."""
    for sentence in to_forget(text):
        turn = {"role": "user", "content": sentence, "id": f"f-{_digest(event.session, sentence)}"}
        memory.add([turn], session_id=event.session, tags=[TAG], on_conflict="skip")


def _new_turns(event: HookEvent, session: Session) -> tuple[list[Turn], int, int]:
    """The turns to look at, the index of the first new one, and the bytes read of the transcript.

    Without a transcript they are the prompt, or the reply, that came with the event.
    """
    if event.transcript is None:
        turns = [Turn("user", event.prompt), Turn("assistant", event.reply)]
        return [turn for turn in turns if turn.text], 0, 0
    if session.transcript != str(event.transcript) or _size(event.transcript) < session.read:
        session.before = session.read = 0
    context, _ = read_turns(event.transcript, event.agent, session.before, session.read)
    turns, end = read_turns(event.transcript, event.agent, session.read)
    all_turns = [*context, *turns]
    if event.reply and not any(turn.text == event.reply for turn in all_turns[-4:]):
        all_turns.append(Turn("assistant", event.reply))  # the transcript may come after the event
    return all_turns, len(context), end


def _size(path: Path) -> int:
    return path.stat().st_size


def _is_said_again(item: Mapping[str, Any], record: MemoryRecord) -> bool:
    """Test whether an item says again what something else had taken the place of."""
    said_at, ended_at = item.get("created_at"), record.valid_to
    return record.status == "superseded" and (
        said_at is None or ended_at is None or said_at > ended_at
    )


def _digest(*parts: object) -> str:
    return blake2b(" ".join(map(str, parts)).encode(), digest_size=6).hexdigest()


def _item(statement: Statement, number: int, turn: Turn, event: HookEvent) -> dict[str, Any]:
    """The memory of a statement; the same words make the same memory, whoever says them again."""
    item: dict[str, Any] = {
        "id": f"{statement.kind[0]}-{_digest(statement.kind, *words(statement.text))}",
        "content": statement.text,
        "kind": statement.kind,
        "speaker": statement.speaker,
        "session_id": event.session,
        "tags": [TAG],
        "metadata": {
            "source": event.agent,
            "turn": number,
            "probability": statement.probability,
            "transcript": None if event.transcript is None else str(event.transcript),
        },
    }
    if turn.said_at is not None:
        item["created_at"] = turn.said_at
    return item
