"""Exports: a random life on any store, brought into any other, exports to the same bytes."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from salience import Memory
from salience.errors import InvalidInput, NotFound
from salience.testing import WordHashEmbedder
from salience.testing.conformance._case import Clock
from support.steps import IDS, QUESTIONS, added, changes, ids, texts

EMBEDDER = WordHashEmbedder()
JUDGEMENTS = ["pin", "unpin", "promote", "demote", "reinforce", "archive"]
KINDS = ["useful", "not_useful", "outdated", "incorrect"]
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
    st.tuples(st.just("judge"), ids, st.sampled_from(JUDGEMENTS)),
    st.tuples(st.just("feedback"), ids, st.sampled_from(KINDS)),
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
        "decay": memory.decay_all,
        "chat": lambda said, answer: memory.add_chat(
            [{"role": "user", "content": said}, {"role": "assistant", "content": answer}],
            session_id="chat",
        ),
        "maintain": lambda: memory.maintain(steps=("expire", "tasks", "links", "prune")),
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
        "ram": "ram://",
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


@pytest.mark.parametrize("source", ["ram", "sqlite", "postgres"])
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(life=st.lists(steps, max_size=20), with_vectors=st.booleans())
def test_an_import_exports_to_the_same_bytes(
    stores: dict[str, Memory], source: str, life: list[tuple[Any, ...]], with_vectors: bool
) -> None:
    namespace = f"n{next(NUMBERS)}"
    memory = stores[source].within(namespace)
    clock = memory._core.searches.clock
    assert isinstance(clock, Clock)
    for step in life:
        live(memory, clock, step)
    text = exported(memory, vectors=with_vectors)
    hits = [memory.search(words, touch=False, **options) for words, options in QUESTIONS]
    for name, other in stores.items():
        target = other.within(namespace if name != source else f"{namespace}-again")
        target.import_(io.StringIO(text))
        again = exported(target, vectors=with_vectors)
        if name == source:  # under another name
            assert again.splitlines()[2:-1] == text.splitlines()[2:-1]
        else:
            assert again == text
        assert target.verify()
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
