"""How far cosines count where the embedder does not know the words, and which state holds."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from types import MappingProxyType

import numpy as np
import pytest

from salience import Memory, Profile
from salience.embedders import EmbedderIdentity
from salience.embedders.protocol import Kind, Rows
from salience.embedders.static import StaticEmbedder
from salience.ranking.expressions import Col, Constant
from salience.ranking.functions import WhenQuery
from salience.ranking.signals import StateInForce, Trusted
from salience.ranking.stages import cut, retrieve, score
from salience.retrieval.routes import Lexical, MatchAll, Vector

NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)
TRUST = Profile(
    "trust",
    retrieve(MatchAll(), Vector(), depth=None)
    >> score(Trusted(Constant(1.0), Constant(0.0)))
    >> cut(),
)


class LatinEmbedder:
    """Every text has the same vector, and `known` says how far a script or language is known."""

    identity = EmbedderIdentity("tests", "latin", 2, "1")
    known: Mapping[str, float] = MappingProxyType({"latin": 1.0, "de": 0.5, "cyrillic": 0.8})

    def embed(self, texts: Sequence[str], *, kind: Kind = "document") -> Rows:
        return np.tile(np.array([1.0, 0.0], dtype=np.float32), (len(texts), 1))

    def knows(self, language: str) -> float:
        return self.known.get(language, 0.0)


class SilentEmbedder(LatinEmbedder):
    """One that does not say what it knows."""

    knows = None  # type: ignore[assignment]


def trust(embedder: LatinEmbedder, query: str) -> dict[str, float]:
    with Memory.open("ram://", embedder=embedder) as memory:
        memory.add("A pear tree.", id="latin")
        memory.add("Старая груша.", id="cyrillic")
        memory.add("梨树。", id="han")
        memory.add("我在zalando。", id="mixed")  # two characters and a word
        return {hit.id: hit.score for hit in memory.search(query, profile=TRUST, touch=False)}


def test_a_cosine_counts_as_far_as_both_texts_are_known() -> None:
    known = {"latin": 1.0, "cyrillic": 0.8, "han": 0.0, "mixed": pytest.approx(1 / 3)}
    assert trust(LatinEmbedder(), "pear") == known
    assert trust(LatinEmbedder(), "Wo steht der Birnbaum?") == {
        **dict.fromkeys(("latin", "cyrillic"), 0.5),
        "han": 0.0,
        "mixed": pytest.approx(1 / 3),
    }
    assert trust(LatinEmbedder(), "груша") == {**known, "latin": 0.8}
    assert set(trust(LatinEmbedder(), "梨树在哪里？").values()) == {0.0}


def test_an_embedder_that_does_not_say_knows_everything() -> None:
    assert set(trust(SilentEmbedder(), "梨树在哪里？").values()) == {1.0}


def test_the_default_embedder_knows_what_its_vocabulary_has() -> None:
    knows = StaticEmbedder().knows
    assert [knows(name) for name in ("latin", "cyrillic", "de", "han", "thai")] == [1, 1, 0.5, 0, 0]


STATES = Profile(
    "states",
    retrieve(Lexical(), MatchAll(), depth=None)
    >> score(WhenQuery("query_asks_state", StateInForce(Col("importance").default(0.0))))
    >> cut(),
)


def states(query: str, *told: tuple[str, float]) -> list[float]:
    with Memory.open("ram://", embedder=None) as memory:
        for place, (text, importance) in enumerate(told):
            memory.add(
                text,
                id=str(place),
                importance=importance,
                created_at=NOW + timedelta(days=place - 100),
            )
        found = memory.search(query, profile=STATES, limit=20, now=NOW, touch=False)
        scores = {hit.id: hit.score for hit in found}
        return [scores[str(place)] for place in range(len(told))]


def test_the_newest_state_stands_above_the_others() -> None:
    told = (
        ("Ich wohne in Bonn.", 0.75),
        ("Ich bin nach Lyon gezogen.", 0.25),
        ("Wo wohne ich?", 0.5),  # tells nothing
        ("Ana wohnt jetzt in Oslo.", 0.5),
        ("Ich arbeite in Graz.", 0.5),
    )
    assert states("Wo wohne ich jetzt?", *told) == [0.0, 1.5, 0.0, 0.0, 0.0]
    assert states("Wo wohne ich?", *told) == [0.0, 1.5, 0.0, 0.0, 0.0]
    assert states("Wo habe ich früher gewohnt?", *told) == [1.0, 0.0, 0.0, 0.0, 0.0]
    assert states("Wo wohnt Ana jetzt?", *told) == [0.0, 0.0, 0.0, 1.0, 0.0]
    assert states("Where do I work?", *told)[4] == 1.0  # the attribute is the same
    assert states("Was habe ich gekocht?", *told) == [0.0] * 5


def test_without_an_attribute_what_matches_nearly_as_well_is_a_state() -> None:
    told = (("绿茶", 1.0), ("红茶", 0.75), ("咖啡", 0.5))
    assert states("我现在喝什么？", *told) == [0.0, 1.25, 0.0]
    assert states("我喝什么？", *told) == [0.0, 0.0, 0.0]
