"""Exports: a random life on any store, brought into any other, exports to the same bytes."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from salience import AsyncMemory, Memory, importers
from salience.errors import InvalidInput, NotEmpty, NotFound, StoreError
from salience.importers import ImportProblem
from salience.records.events import JUDGEMENTS
from salience.testing import WordHashEmbedder
from salience.testing.conformance._case import EVERYTHING, Clock
from salience.write.transfer import parts
from support.examples import examples
from support.steps import IDS, QUESTIONS, added, changes, ids, texts
from support.waiting import HANG_SECONDS

EMBEDDER = WordHashEmbedder()
DONE = ["pin", "unpin", "archive"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e300, 1e300) | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("zab"), inner),
    max_leaves=4,
)
vectors = st.none() | st.fixed_dictionaries(
    {}, optional={"image": st.just([0.5, 1.0]), "content": st.just([1.0] * 32)}
)
steps = st.one_of(
    st.tuples(st.just("add"), st.lists(added, min_size=1, max_size=3), vectors),
    st.tuples(st.just("update"), ids, changes),
    st.tuples(st.just("metadata"), ids, st.dictionaries(st.sampled_from("xyz"), JSON)),
    st.tuples(st.just("replace"), added),
    st.tuples(st.just("delete"), ids),
    st.tuples(st.just("search"), st.sampled_from(IDS), st.integers(1, 3)),
    st.tuples(st.just("judge"), ids, st.sampled_from(DONE)),
    st.tuples(st.just("feedback"), ids, st.sampled_from(JUDGEMENTS)),
    st.tuples(st.just("link"), ids, st.sampled_from([*IDS, "Ana"])),
    st.tuples(st.just("supersede"), ids, ids),
    st.tuples(st.just("decay")),
    st.tuples(st.just("chat"), texts, texts),
    st.tuples(st.just("maintain")),
    st.tuples(st.just("wait"), st.integers(1, 40)),
)


def live(memory: Memory, clock: Clock, step: tuple[Any, ...]) -> None:
    """Do one step; what cannot be done is left out."""
    kind, *values = step
    actions: dict[str, Any] = {
        "add": lambda items, own: memory.add_many(
            {**item, "vectors": own} if own else item for item in items
        ),
        "update": lambda id, fields: memory.update(id, **fields),
        "metadata": lambda id, keys: memory.update(id, metadata=keys),
        "replace": lambda item: memory.add_many([item], on_conflict="replace"),
        "delete": memory.delete,
        "search": lambda word, limit: memory.search(word, limit=limit),
        "judge": lambda id, verb: getattr(memory, verb)(id),
        "feedback": memory.feedback,
        "link": lambda one, other: (
            memory.add("A link.", links=[{"target": other, "type": "supports", "weight": 0.5}])
            if memory.get(one) is None
            else memory.link(one, other, "mentions", 0.25)
        ),
        "supersede": memory.supersede,
        "decay": memory.upkeep.decay,
        "chat": lambda said, answer: memory.add_chat(
            [{"role": "user", "content": said}, {"role": "assistant", "content": answer}],
            session_id="chat",
        ),
        "maintain": lambda: memory.upkeep.maintain(steps=("expire", "tasks", "links", "prune")),
        "wait": lambda minutes: clock.pass_(minutes=minutes, days=minutes),
    }
    with suppress(NotFound, InvalidInput):
        actions[kind](*values)


def exported(memory: Memory, **options: Any) -> str:
    file = io.StringIO()
    memory.export(file, **options)
    return file.getvalue()


@pytest.fixture
def stores(tmp_path: Path, database: str) -> Iterator[dict[str, Memory]]:
    clock = Clock()
    urls = {
        "sqlite": f"sqlite:///{tmp_path / 'm.db'}",
        "postgres": database,
    }
    memories = {
        name: Memory.open(url, embedder=EMBEDDER, clock=clock) for name, url in urls.items()
    }
    yield memories
    for memory in memories.values():
        memory.close()


NUMBERS = count()


@pytest.mark.parametrize("name", ["sqlite", "postgres"])
def test_namespaces_whose_logs_have_the_same_places_keep_their_own_vectors(
    stores: dict[str, Memory], name: str
) -> None:
    """The log of each namespace on PostgreSQL begins at 1; here two are brought together."""
    texts = []
    for namespace in ("edited", "plain"):
        memory = stores["postgres"].for_namespace(namespace)
        memory.add_many([{"id": "a", "content": "apple"}, {"id": "b", "content": "banana"}])
        if namespace == "edited":
            memory.update("a", content="cherry")
        else:
            memory.pin("a")
        texts.append(exported(memory, vectors=True))
    copies = [stores[name].for_namespace(f"{namespace}-again") for namespace in ("edited", "plain")]
    for copy, text in zip(copies, texts, strict=True):
        copy.load(io.StringIO(text))
    assert ["former_vectors" in text for text in texts] == [True, False]
    for copy, text in zip(copies, texts, strict=True):
        assert exported(copy, vectors=True).splitlines()[2:-1] == text.splitlines()[2:-1]
    copies[1].delete_many(["a", "b"])
    assert exported(copies[0], vectors=True).splitlines()[2:-1] == texts[0].splitlines()[2:-1]


@pytest.mark.parametrize("source", ["sqlite", "postgres"])
@settings(
    max_examples=examples(12),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(life=st.lists(steps, max_size=20), with_vectors=st.booleans())
def test_an_import_exports_to_the_same_bytes(
    stores: dict[str, Memory], source: str, life: list[tuple[Any, ...]], with_vectors: bool
) -> None:
    namespace = f"n{next(NUMBERS)}"
    memory = stores[source].for_namespace(namespace)
    clock = memory._core.searches.clock
    assert isinstance(clock, Clock)
    for step in life:
        live(memory, clock, step)
    text = exported(memory, vectors=with_vectors)
    hits = [memory.search(words, touch=False, **options) for words, options in QUESTIONS]
    for name, other in stores.items():
        target = other.for_namespace(namespace if name != source else f"{namespace}-again")
        target.load(io.StringIO(text))
        again = exported(target, vectors=with_vectors)
        if name == source:  # under another name
            assert again.splitlines()[2:-1] == text.splitlines()[2:-1]
        else:
            assert again == text
        assert target.upkeep.verify()
        assert target.links() == [
            link
            if name != source
            else type(link)(
                target.namespace, link.source, link.target, link.type, link.weight, link.created_at
            )
            for link in memory.links()
        ]
        if not with_vectors and any(step[0] == "add" and step[2] for step in life):
            continue  # vectors that were given for texts are made by the embedder now
        for (words, options), before in zip(QUESTIONS, hits, strict=True):
            after = target.search(words, touch=False, **options)
            assert [(hit.id, hit.score) for hit in after] == [(hit.id, hit.score) for hit in before]


LINES = [
    '{"salience": "export", "version": 1, "vectors": false}',
    '{"namespace": "default", "memories": 2}',
    '{"memory": {"id": "a", "content": "Ana", "created_at": "2026-01-01T00:00:00Z"}}',
    '{"memory": {"id": "b", "content": "Ben", "created_at": "2026-01-01T00:00:00Z"}}',
    '{"end": {}}',
]


def memory_with(**fields: Any) -> str:
    """The third line with other fields of its memory."""
    return json.dumps({"memory": {**json.loads(LINES[2])["memory"], **fields}})


def event_with(payload: dict[str, Any], type: str = "edit") -> str:
    """The fourth line with an event of its memory."""
    event = {"seq": 1, "type": type, "at": "2026-01-01T00:00:00Z", "payload": payload}
    return json.dumps({**json.loads(LINES[3]), "events": [event]})


@pytest.mark.parametrize(
    ("line", "text", "said"),
    [
        (1, '{"salience": "export", "version": 2}', "line 1: version: is 2, not 1; upgrade"),
        (1, '{"content": "x"}', "line 1: line: is not the header of an export"),
        (2, "[]", "line 2: line: is not a JSON object but list"),
        (2, '{"namespace": ""}', "line 2: namespace: is empty"),
        (2, '{"memories": 2}', "line 2: line: is neither a namespace nor a memory"),
        (3, LINES[2][:40], "line 3: line: is not JSON"),
        (3, memory_with(importance=7), "line 3: importance: is 7"),
        (3, memory_with(colour="red"), "line 3: memory.colour: is not known; it may be of a newer"),
        (3, memory_with(content=None), "line 3: content: must be text"),
        (3, memory_with(content="a\0"), "line 3: line: contains a NUL"),
        (3, memory_with(access_count=-1), "line 3: access_count: is -1"),
        (3, memory_with(status="gone"), "line 3: status: is 'gone'"),
        (3, '{"memory": {"id": "a", "content": "x"}}', "line 3: memory.created_at: is missing"),
        (4, LINES[2], "line 4: memory.id: 'a' is there twice"),
        (4, LINES[3][:-1] + ', "events": [{"seq": 1, "type": "born"}]}', "line 4: events: "),
        (4, LINES[3][:-1] + ', "events": [{"seq": 1, "type": []}]}', "line 4: events: "),
        (4, event_with({"set": {"importance": 7}}), "line 4: events.set.importance: is 7"),
        (4, event_with({"was": {"tags": {"a": 1}}}), "line 4: events.was.tags: must be a list"),
        (4, event_with({"set": {"valid_to": "soon"}}), "line 4: events.set.valid_to: 'soon' is"),
        (4, event_with({"set": {"pinned": {}}}), "line 4: events.set.pinned: is {}"),
        (
            4,
            event_with({"target": {}, "link": "supports", "weight": 1}, "link"),
            "line 4: events.target: must be text",
        ),
        (2, LINES[1][:-1] + ', "notes": {"maintenance": "x"}}', "line 2: notes.maintenance: is of"),
        (4, LINES[3][:-1] + ', "links": [{"target": "a"}]}', "line 4: links: "),
        (4, LINES[3][:-1] + ', "vectors": {"content": "!"}}', "line 4: vectors.content: is not"),
        (5, '{"end": {"digest": "0"}}', "line 5: digest: differs: a line before was changed"),
        (5, "", "line 4: is the last, and not the end: the export was broken off"),
    ],
)
def test_a_damaged_file_names_its_line_and_writes_nothing(line: int, text: str, said: str) -> None:
    changed = [*LINES]
    changed[line - 1] = text
    with Memory.open("ram://", embedder=EMBEDDER) as memory:
        with pytest.raises(InvalidInput, match=f"^file, {re.escape(said)}"):
            memory.load(io.BytesIO("\n".join(changed).encode()))
        assert memory.get_all().total == 0
        assert memory.load(io.BytesIO("\n".join(LINES).encode())).memories == 2
        assert [hit.id for hit in memory.search("ben", limit=1)] == ["b"]


def test_only_an_empty_namespace_takes_an_import(tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"
    with Memory.open("ram://", embedder=EMBEDDER) as memory:
        memory.add("One.", id="a")
        memory.for_namespace("other").add("Two.", id="b")
        assert memory.export(path, everywhere=True).namespaces == ("default", "other")
        with pytest.raises(StoreError, match="'default' holds 1 memories already"):
            memory.load(path, everywhere=True)
        with pytest.raises(InvalidInput, match="holds 2 namespaces, not one; import it with every"):
            memory.for_namespace("third").load(path)
        assert memory.export(path).memories == 1  # the file is replaced
        assert memory.for_namespace("third").load(str(path)).namespaces == ("third",)
        assert [record.id for record in memory.for_namespace("third").get_all()] == ["a"]


def test_an_import_that_was_broken_off_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "CHUNK_MEMORIES", 3)
    path, clock = tmp_path / "all.jsonl", Clock()
    with Memory.open("ram://", embedder=EMBEDDER, clock=clock) as memory:
        memory.add_many({"id": f"m{i}", "content": f"Note {i}"} for i in range(10))
        memory.upkeep.decay()
        memory.export(path)

    def stop(step: str, done: int, total: int) -> None:
        if (step, done) == ("importing default", 6):
            assert total == 10
            raise KeyboardInterrupt

    with Memory.open(f"sqlite:///{tmp_path / 'm.db'}", embedder=EMBEDDER, clock=clock) as memory:
        with pytest.raises(KeyboardInterrupt):
            memory.load(path, progress=stop)
        assert memory.get_all().total == 6
        other = io.StringIO(exported(memory.for_namespace("elsewhere")))
        with pytest.raises(StoreError, match="6 memories of another source, which was broken off"):
            memory.load(other)
        memory.load(path)
        assert exported(memory) == path.read_text("utf-8")


@pytest.mark.parametrize("where", ["file", "postgres"])
def test_an_import_that_was_broken_off_goes_on_after_a_search(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """A search is logged behind all that the file brings."""
    monkeypatch.setattr(parts, "CHUNK_MEMORIES", 3)
    path, clock = tmp_path / "all.jsonl", Clock()
    with Memory.open("ram://", embedder=EMBEDDER, clock=clock) as memory:
        memory.add_many({"id": f"m{i}", "content": f"Note {i}"} for i in range(10))
        memory.export(path)
        places = [event.seq for event in memory.events()]

    def stop(step: str, done: int, total: int) -> None:
        if (step, done) == ("importing default", 6):
            raise KeyboardInterrupt

    is_file = where == "file"
    address = tmp_path / "m.db" if is_file else request.getfixturevalue("database")
    with Memory.open(address, embedder=EMBEDDER, clock=clock) as memory:
        with pytest.raises(KeyboardInterrupt):
            memory.load(path, progress=stop)
        assert memory.search("Note 1", limit=1).ids == ("m1",)
        memory.upkeep.flush()
        memory.load(path)
        assert memory.count() == 10
        assert [event.type for event in memory.history("m1")] == ["write", "retrieval"]
        *brought, own = [event.seq for event in memory.events()]
        assert (brought, own > places[-1]) == (places, True)
        assert memory.upkeep.verify()


def test_an_import_that_was_broken_off_in_a_later_namespace_goes_on(tmp_path: Path) -> None:
    path, clock = tmp_path / "all.jsonl", Clock()
    with Memory.open("ram://", embedder=EMBEDDER, clock=clock) as memory:
        for name in ("a", "b", "c"):
            memory.for_namespace(name).add_many([f"Note {i} of {name}" for i in range(5)])
            memory.for_namespace(name).labels.add(f"Of {name}?")
        memory.export(path, everywhere=True)

    def stop(step: str, done: int, total: int) -> None:
        if step == "importing b":
            raise KeyboardInterrupt

    with Memory.open("ram://", embedder=EMBEDDER, clock=clock) as memory:
        with pytest.raises(KeyboardInterrupt):
            memory.load(path, everywhere=True, progress=stop)
        memory.load(path, everywhere=True)
        file = io.StringIO()
        memory.export(file, everywhere=True)
        assert file.getvalue() == path.read_text("utf-8")
        with pytest.raises(NotEmpty, match="'a' holds 5 memories already"):
            memory.load(path, everywhere=True)


def test_an_export_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"
    path.write_text("before", "utf-8")

    def stop(step: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with Memory.open("ram://", embedder=EMBEDDER) as memory:
        memory.add("One.")
        with pytest.raises(KeyboardInterrupt):
            memory.export(path, progress=stop)
        with pytest.raises(FileNotFoundError, match="nowhere"):
            memory.export(tmp_path / "nowhere" / "all.jsonl")
    assert path.read_text("utf-8") == "before"
    assert [each.name for each in tmp_path.iterdir()] == ["all.jsonl"]


def test_an_export_replaces_files_alone(tmp_path: Path) -> None:
    """A pipe or device is written to, a link stays a link, and a folder is refused by its name."""
    pipe, link, real = tmp_path / "pipe", tmp_path / "link", tmp_path / "sub" / "real"
    real.parent.mkdir()
    link.symlink_to(real)
    os.mkfifo(pipe)
    read: list[str] = []
    with Memory.open("ram://", embedder=EMBEDDER) as memory:
        memory.add("One.")
        reader = Thread(target=lambda: read.append(pipe.read_text("utf-8")), daemon=True)
        reader.start()
        memory.export(pipe)
        reader.join(HANG_SECONDS)
        for _ in range(2):
            memory.export(link)
        with pytest.raises(
            IsADirectoryError, match=re.escape(f"a folder; name a file in it: {str(real.parent)!r}")
        ):
            memory.export(real.parent)
    assert pipe.is_fifo()
    assert link.is_symlink()
    assert read == [link.read_text("utf-8")] == [real.read_text("utf-8")]


def test_a_backup_does_not_take_the_place_of_a_device(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    memory = Memory.open(tmp_path / "memory.db", embedder=EMBEDDER)
    with memory, pytest.raises(InvalidInput, match="is a device or a pipe; name another file"):
        memory.backup(pipe, overwrite=True)
    assert pipe.is_fifo()


@pytest.mark.parametrize("url", ["ram://", "postgres"])
def test_an_export_is_of_the_moment_at_which_it_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, database: str, url: str
) -> None:
    monkeypatch.setattr(parts, "CHUNK_MEMORIES", 2)
    url = database if url == "postgres" else url
    clock, quiet = Clock(), io.StringIO()
    with Memory.open(url, embedder=EMBEDDER, clock=clock) as memory:
        memory.add_many({"id": id, "content": f"Note {id}"} for id in "abcdef")
        memory.link("e", "a", "supports", 0.5)
        memory.link("f", "a", "supports")
        memory.export(quiet)

        def meddle(step: str, done: int, total: int) -> None:
            if done != 2:
                return
            clock.pass_(days=3)
            memory.upkeep.decay()
            memory.update("c", content="Changed")
            memory.update("d", importance=0.5)
            memory.search("note", limit=6)
            memory.feedback("e", "useful")
            memory.link("e", "a", "supports", 0.25)
            memory.link("e", "b")
            memory.delete_many("g")
            memory.add("Too late", id="g")
            memory.update("f", metadata={"new": True})

        busy = io.StringIO()
        memory.export(busy, progress=meddle)
        memories = [sorted(text.getvalue().splitlines()) for text in (quiet, busy)]
        assert [line for line in memories[1] if '"end"' not in line] == [
            line for line in memories[0] if '"end"' not in line
        ]
    with Memory.open("ram://", embedder=EMBEDDER) as again:
        busy.seek(0)
        again.load(busy)
        assert again.upkeep.verify()


def test_vectors_of_another_embedder_are_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"
    with Memory.open("ram://", embedder=EMBEDDER) as memory:
        memory.add("Ana drinks green tea.", id="tea", vectors={"image": [0.5, 1.0]})
        memory.update("tea", content="Ana drinks black tea.")
        memory.export(path, vectors=True)
    assert '"former_vectors"' in path.read_text("utf-8")
    with Memory.open("ram://", embedder=WordHashEmbedder(dimensions=16)) as memory:
        assert memory.load(path).degraded == ()
        [hit] = memory.search("Ana drinks black tea.", profile=EVERYTHING)
        assert hit.score > 0.99
        assert '"image"' in exported(memory)
    with Memory.open("ram://", embedder=None) as memory:
        memory.load(path)
        text = exported(memory, vectors=True)
        assert '"embedder": "salience.testing/word-hash@1 (32)"' in text
        assert text == path.read_text("utf-8")


def test_without_an_embedder_vectors_are_missing_and_that_is_told(tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"
    with Memory.open("ram://", embedder=EMBEDDER) as memory:
        memory.add("Ana drinks green tea.", id="tea")
        memory.export(path)
    with Memory.open("ram://", embedder=None) as memory:
        [reason] = memory.load(path).degraded
        assert "opened without an embedder" in reason
        assert memory.search("tea").ids == ("tea",)


def test_what_is_new_is_consolidated_in_a_copy_too(tmp_path: Path) -> None:
    """The rows of the source, up to which it was consolidated, are others in a copy."""
    path = tmp_path / "all.jsonl"
    alike = [f"{start} sofa" for start in ("the cat sleeps on", "on the cat sleeps", "sleeps cat")]
    with Memory.open("ram://", embedder=EMBEDDER) as memory:
        memory.for_namespace("before").add_many([f"Boat {n} is green." for n in range(50)])
        memory.add_many([f"Ana {chr(97 + n) * 9} box {n}." for n in range(21)], dedup=False)
        memory.upkeep.consolidate(apply=True)
        memory.export(path)
    with Memory.open("ram://", embedder=EMBEDDER) as memory:
        memory.load(path)
        memory.add_many([{"content": text, "id": text} for text in alike], dedup=False)
        found = {id for cluster in memory.upkeep.consolidate().clusters for id in cluster.members}
        assert {*alike} <= found


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("nonsense", "cannot be read"),
        ("[]", "cannot be read"),
        ('{"id": "b", "query": "Where?"}', "has another id"),
        ('{"id": "a", "query": 5}', "query: must be text"),
        ('{"id": "a", "query": "Where?", "filters": {"none": 1}}', "filters.none"),
        ('{"id": "a", "query": "Where?", "relevant": "xy"}', ""),
    ],
)
def test_a_file_brings_no_question_that_cannot_be_read(question: str, said: str) -> None:
    with Memory.open("ram://", embedder=None) as memory:
        memory.add("Ana drinks green tea.", id="tea")
        header, namespace, tea, _ = exported(memory).splitlines()
    planted = {"question:a": question, "consolidated-until": "x"}
    line = json.dumps({**json.loads(namespace), "notes": planted})
    file = io.StringIO("\n".join((header, line, tea, '{"end": {}}')) + "\n")
    with Memory.open("ram://", embedder=None) as memory:
        if said:
            with pytest.raises(InvalidInput, match=f"line 2.*{said}"):
                memory.load(file)
        else:
            memory.load(file)
            assert [each.relevant for each in memory.labels.questions()] == [("x", "y")]
        memory.upkeep.consolidate(apply=True)
        memory.upkeep.maintain()
        assert memory.count() == (0 if said else 1)


def test_async_memory_exports_and_imports(tmp_path: Path) -> None:
    async def both() -> int:
        async with await AsyncMemory.open("ram://", embedder=EMBEDDER) as memory:
            await memory.add("One.", id="a")
            await memory.export(tmp_path / "all.jsonl")
            return (await memory.for_namespace("other").load(tmp_path / "all.jsonl")).memories

    assert asyncio.run(both()) == 1


def test_what_is_no_file_is_refused() -> None:
    with Memory.open("ram://", embedder=None) as memory:
        calls: list[Any] = [memory.export, memory.load]
        for call in calls:
            with pytest.raises(InvalidInput, match="give a path or an open file"):
                call(7)
        with pytest.raises(FileNotFoundError):
            memory.load("nowhere.jsonl")


def test_an_export_loads_no_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "CHUNK_MEMORIES", 2)
    url = f"sqlite:///{tmp_path / 'm.db'}"
    with Memory.open(url, embedder=EMBEDDER) as memory:
        memory.add_many({"id": id, "content": f"Note {id}"} for id in "abcde")
    read: list[int] = []
    with Memory.open(url, embedder=EMBEDDER) as memory:
        memory.export(io.StringIO(), progress=lambda step, done, total: read.append(done))
        store: Any = memory._core.dispatcher.store
        assert not store._indexes
    assert read == [2, 4, 5]


def test_an_export_is_not_taken_for_notes(tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"
    with Memory.open("ram://", embedder=None) as memory:
        memory.add("One.", id="a")
        memory.export(path)
        with pytest.raises(ImportProblem, match=r"is an export of salience; bring it back by Mem"):
            memory.add_many(importers.read(path))
