"""Making vectors anew: with another embedder, for what was kept without, and when broken off."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from salience import Memory, Profile
from salience.embedders import EmbedderIdentity, Kind, Rows, StaticEmbedder
from salience.errors import EmbedderError, EmbedderMismatch, InvalidInput
from salience.ranking.expressions import Col
from salience.ranking.stages import cut, retrieve, score
from salience.retrieval.routes import Vector

VECTOR = Col("vector.score")


class Half:
    """The default model cut to its first dimensions; breaks after so many texts."""

    def __init__(self, dimensions: int = 64, breaks_after: int | None = None) -> None:
        self._whole = StaticEmbedder()
        self._left = breaks_after
        self.identity = EmbedderIdentity("test", "half", dimensions, str(dimensions))

    def embed(self, texts: Sequence[str], *, kind: Kind = "document") -> Rows:
        if self._left is not None:
            self._left -= len(texts)
            if self._left < 0:
                raise EmbedderError("broke off")
        rows = self._whole.embed(texts, kind=kind)[:, : self.identity.dimensions]
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows / np.where(norms > 0, norms, 1), dtype=np.float32)


@pytest.fixture
def url(tmp_path: Path) -> str:
    found = f"sqlite:///{tmp_path / 'm.db'}"
    with Memory.open(found) as memory:
        memory.add("The cat sleeps on the warm radiator", id="cat")
        memory.add("We signed the lease for the flat", id="lease")
        memory.for_namespace("team").add("Deploys happen on Tuesdays", id="deploy")
    return found


def test_another_embedder_is_refused_then_adopted(url: str) -> None:
    with pytest.raises(EmbedderMismatch, match="salience reembed"):
        Memory.open(url, embedder=Half())
    told: list[tuple[int, int]] = []
    made = Memory.upkeep.reembed(url, embedder=Half(), progress=lambda *done: told.append(done))
    assert made == 3
    assert told[-1] == (3, 3)
    with Memory.open(url, embedder=Half()) as memory:
        assert memory.search("kitten napping", limit=1).ids == ("cat",)
        assert memory.search("kitten napping", limit=1).hits[0].routes["vector"] == 1
        assert memory.for_namespace("team").search("release schedule", limit=1).ids == ("deploy",)
    with pytest.raises(EmbedderMismatch):
        Memory.open(url)


def test_ranks_as_if_it_had_always_been_so(url: str) -> None:
    Memory.upkeep.reembed(url, embedder=Half())
    with Memory.open(url, embedder=Half()) as again, Memory.open("ram://", embedder=Half()) as new:
        for page in (again.get_all().memories,):
            new.add_many([{"id": r.id, "content": r.content} for r in reversed(page)])
        asked = "who sleeps in the flat?"
        found = [(hit.id, hit.score) for hit in again.search(asked, touch=False)]
        assert found == [(hit.id, hit.score) for hit in new.search(asked, touch=False)]


def test_broken_off_it_keeps_the_old_vectors_and_goes_on_later(url: str) -> None:
    with pytest.raises(EmbedderError, match="broke off"):
        Memory.upkeep.reembed(url, embedder=Half(breaks_after=2))
    with Memory.open(url) as memory:
        assert memory.search("kitten napping", limit=1).hits[0].routes["vector"] == 1
    assert Memory.upkeep.reembed(url, embedder=Half()) == 1  # two of the three are there
    with Memory.open(url, embedder=Half()) as memory:
        assert memory.search("kitten napping", limit=1).ids == ("cat",)


def test_an_attempt_with_a_third_embedder_leaves_nothing_behind(url: str) -> None:
    with pytest.raises(EmbedderError):
        Memory.upkeep.reembed(url, embedder=Half(32, breaks_after=2))
    assert Memory.upkeep.reembed(url, embedder=Half(64)) == 3
    with Memory.open(url, embedder=Half(64)) as memory:
        assert memory.search("kitten napping", limit=1).ids == ("cat",)


def test_missing_vectors_are_made_and_searched_at_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'm.db'}"
    with Memory.open(url, embedder=None) as memory:
        assert memory.add("The cat sleeps", id="cat").degraded
    with Memory.open(url) as memory:
        assert "vector" not in memory.search("cat").hits[0].routes
        assert Memory.upkeep.reembed(url, missing=True) == 1
        assert memory.search("cat").hits[0].routes["vector"] == 1


def test_a_memory_kept_without_a_vector_is_told_which_command_makes_it(url: str) -> None:
    class Down(StaticEmbedder):
        def embed(self, texts: Sequence[str], *, kind: Kind = "document") -> Rows:
            raise EmbedderError("no answer")

    with Memory.open(url, embedder=Down()) as memory:
        [told] = memory.add("Ben likes coffee").degraded
    assert "the same embedder makes later" in told
    assert "salience reembed --missing --embedder NAME" in told
    assert "Memory.upkeep.reembed(url, embedder=..., missing=True)" in told


def test_vectors_of_another_embedder_are_replaced_only_by_one_that_is_named(url: str) -> None:
    assert Memory.upkeep.reembed(url) == 3  # they are the default one's
    Memory.upkeep.reembed(url, embedder=Half())
    for missing in (False, True):
        with pytest.raises(EmbedderMismatch, match=r"Memory.upkeep.reembed\(url, embedder=...\)"):
            Memory.upkeep.reembed(url, missing=missing)
    Memory.open(url, embedder=Half()).close()
    assert Memory.upkeep.reembed(url, embedder="default") == 3
    Memory.open(url).close()


def test_no_embedder_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="makes no vectors"):
        Memory.upkeep.reembed(url, embedder="none")


@pytest.mark.parametrize(("name", "reason"), [("_mine", "underscore"), ("content#0", "passage")])
def test_names_that_the_engine_gives_its_own_vectors_are_refused(name: str, reason: str) -> None:
    with Memory.open("ram://", embedder=Half()) as memory:
        with pytest.raises(InvalidInput, match=reason) as refused:
            memory.add("x", vectors={name: [1.0, 0.0]})
        assert refused.value.field.endswith(f"vectors.{name}")
        memory.add("x", vectors={"content#": [1.0, 0.0], "content#a": [1.0, 0.0]})
        assert memory.count() == 1


CHAT = [
    {"role": "user", "created_at": "2026-05-01", "content": "I like rye bread. I live in Lisbon."},
    {"role": "assistant", "content": "Noted: bread, and Lisbon."},
    {"role": "user", "created_at": "2026-05-01", "content": "When does the bakery open?"},
    {"role": "assistant", "content": "At seven."},
]


def told(url: str, embedder: Half | str) -> dict[str, set[tuple[str, float]]]:
    """The cosines of a chat's memories with a question, by the name of the vector."""
    names = ("content", "user", "asst", "next_user", "facet_personal_info", "facet_preferences")
    with Memory.open(url, embedder=embedder) as memory:
        memory.search("rye bread in Lisbon", profile="multi_route")  # no vector is in its way
        return {
            name: {
                (hit.content, hit.score)
                for hit in memory.search(
                    "rye bread in Lisbon",
                    profile=Profile(name, retrieve(Vector(name)) >> score(VECTOR) >> cut()),
                    touch=False,
                )
            }
            for name in names
        }


def chat_in(url: str, embedder: Half | str) -> str:
    with Memory.open(url, embedder=embedder) as memory:
        memory.add_chat(CHAT[:2], session_id="s", mode="hybrid")
        memory.add_chat(CHAT[2:], session_id="s", mode="hybrid")
    return url


def test_the_vectors_of_sides_and_facets_are_made_anew_too(tmp_path: Path) -> None:
    before = chat_in(f"sqlite:///{tmp_path / 'one.db'}", "default")
    fresh = chat_in(f"sqlite:///{tmp_path / 'two.db'}", Half())
    with pytest.raises(EmbedderError, match="broke off"):
        Memory.upkeep.reembed(before, embedder=Half(breaks_after=3))
    assert len(told(before, "default")["user"]) == 3
    Memory.upkeep.reembed(before, embedder=Half())
    again = told(before, Half())
    assert again == told(fresh, Half())
    assert {name: len(found) for name, found in again.items()} == {
        "content": 3,
        "user": 3,
        "asst": 3,
        "next_user": 1,
        "facet_personal_info": 2,
        "facet_preferences": 2,
    }


def test_an_edit_meanwhile_has_the_vector_of_its_own_words(url: str) -> None:
    with Memory.open(url) as memory:

        def progress(done: int, of: int) -> None:
            if memory.get("lease").content.startswith("We"):  # type: ignore[union-attr]
                memory.update("lease", content="A dog barks at the postman")

        assert Memory.upkeep.reembed(url, embedder=Half(), progress=progress) == 4
    with Memory.open(url, embedder=Half()) as memory:
        [best, *_] = memory.search("A dog barks at the postman", limit=1)
        assert (best.id, best.routes["vector"]) == ("lease", 1)
        assert best.similarity == pytest.approx(1, abs=1e-3)


def test_other_metadata_leave_what_vectors_are_made_of(tmp_path: Path) -> None:
    url = chat_in(f"sqlite:///{tmp_path / 'm.db'}", "default")
    with Memory.open(url) as memory:
        [first] = [r for r in memory.get_all() if r.kind == "turn_chunk" and "rye" in r.content]
        changed = memory.update(first.id, metadata={"seen": True})
        kept = {**first.metadata, "seen": True}
        assert changed.metadata == kept
        assert memory.get(first.id).metadata == kept  # type: ignore[union-attr]
        assert memory.update(first.id, metadata={"vector_texts": {}}).metadata["vector_texts"] == {}


def test_what_an_edit_made_stale_is_not_made_anew(tmp_path: Path) -> None:
    url = chat_in(f"sqlite:///{tmp_path / 'm.db'}", "default")
    with Memory.open(url) as memory:
        [first] = [r for r in memory.get_all() if r.kind == "turn_chunk" and "rye" in r.content]
        memory.update(first.id, content="User: I like tea.")
        assert "vector_texts" not in memory.get(first.id).metadata  # type: ignore[union-attr]
    Memory.upkeep.reembed(url, embedder=Half())
    found = told(url, Half())
    assert "User: I like tea." in {content for content, _ in found["content"]}
    assert "User: I like tea." not in {content for content, _ in found["user"]}
