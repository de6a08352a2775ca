"""The "vitality" profile: its figures by hand, its three tiers, its contexts and zones."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from salience import Hit, Memory
from salience.errors import InvalidInput
from salience.ranking import profiles
from salience.ranking.profile import Profile
from salience.ranking.signals import zone
from salience.ranking.signals.vitality import alive
from salience.ranking.stages import cut, retrieve, score
from salience.retrieval.routes import Vector
from support.asked import in_options
from support.scoring import DAY, HOUR, NOW, Designed, check_tree, opened


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with opened("ram", tmp_path, Designed(), profile="vitality") as memory:
        yield memory


def sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))


def hit(memory: Memory, id: str, query: str = "cos", **options: Any) -> Hit:
    found = memory.search(query, touch=False, explain=True, limit=100, **in_options(options))
    return next(each for each in found if each.id == id)


def part(memory: Memory, id: str, name: str, query: str = "cos", **options: object) -> float:
    tree = hit(memory, id, query, **options).explanation
    assert tree is not None
    check_tree(tree)
    node = tree.find(name)
    assert node is not None, f"{name} is not in\n{tree}"
    return node.value


# How alive a memory is


@pytest.mark.parametrize(
    ("layer", "d"),
    [("entity", 0.05), ("knowledge", 0.5), ("episodic", 1.0), ("activity", 1.5), (None, 0.5)],
)
def test_each_layer_has_its_metabolic_rate(memory: Memory, layer: str | None, d: float) -> None:
    id = memory.add("cos=0.9", layer=layer, created_at=NOW - 4 * DAY).id
    assert part(memory, id, "decay") == pytest.approx(d)
    assert part(memory, id, "base level") == pytest.approx(math.log(4.0**-d))
    assert part(memory, id, "vitality") == pytest.approx(sigmoid(-d * math.log(4.0)))


def test_the_fastest_layers_fade_first(memory: Memory) -> None:
    layers = ["entity", "knowledge", "episodic", "activity"]
    ids = [memory.add("cos=0.9", layer=layer, created_at=NOW - 7 * DAY).id for layer in layers]
    values = [part(memory, id, "vitality") for id in ids]
    assert values == sorted(values, reverse=True)
    # 7^-0.05, 7^-0.5, 7^-1, 7^-1.5 as odds
    odds = [value / (1.0 - value) for value in values]
    assert odds == pytest.approx([0.9073, 0.3780, 0.1429, 0.0540], abs=1e-4)


@pytest.mark.parametrize("layer", ["entity", "knowledge", "episodic", "activity"])
def test_used_once_it_is_half_alive_after_a_day_and_less_later(memory: Memory, layer: str) -> None:
    id = memory.add("cos=0.9", layer=layer, created_at=NOW - DAY).id
    assert part(memory, id, "vitality") == pytest.approx(0.5)
    assert part(memory, id, "vitality", now=NOW + HOUR) < 0.5


def test_every_use_counts_and_the_write_is_the_first(memory: Memory) -> None:
    id = memory.add("cos=0.9", layer="knowledge", created_at=NOW - 9 * DAY).id
    memory.search("cos", now=NOW - 4 * DAY)
    memory.search("cos", now=NOW - DAY)
    # 9^-0.5 + 4^-0.5 + 1^-0.5 = 1/3 + 1/2 + 1
    assert part(memory, id, "base level") == pytest.approx(math.log(11.0 / 6.0))


def test_fifty_uses_outlast_one_of_the_same_age(memory: Memory) -> None:
    """Of the same age, n uses are worth ln n more: B = ln(50 * 9^-0.5) against ln(9^-0.5)."""
    born = NOW - 9 * DAY
    often = memory.add("cos=0.9", id="often", created_at=born).id
    once = memory.add("cos=0.1", id="once", created_at=born).id
    for _ in range(49):
        memory.search("cos", now=born, limit=1)
    level = part(memory, often, "base level")
    assert level == pytest.approx(math.log(50.0 / 3.0))
    assert level - part(memory, once, "base level") == pytest.approx(math.log(50.0))


def test_links_in_slow_the_decay(memory: Memory) -> None:
    id = memory.add("cos=0.9", created_at=NOW - 30 * DAY).id
    for count in range(1, 13):
        memory.link(memory.add("other", dedup=False).id, id)
        s = 1.0 + 0.1 * min(count, 10)
        assert part(memory, id, "structural boost") == pytest.approx(s)
        assert part(memory, id, "decay") == pytest.approx(0.5 / s)
    memory.link(id, memory.add("other", dedup=False).id)  # a link out is none in
    assert part(memory, id, "structural boost") == pytest.approx(2.0)


@pytest.mark.parametrize(("days", "share"), [(0, 1.0), (7, 0.5), (14, 0.25), (3.5, 2**-0.5)])
def test_a_boost_halves_every_seven_days(memory: Memory, days: float, share: float) -> None:
    id = memory.add("cos=0.9", created_at=NOW - 30 * DAY).id
    memory.update(id, boost=0.6, boosted_at=NOW - timedelta(days=days))
    assert part(memory, id, "boost") == pytest.approx(0.6 * share)
    level = part(memory, id, "base level")
    assert part(memory, id, "vitality") == pytest.approx(sigmoid(level + 0.6 * share))


@pytest.mark.parametrize(
    ("days", "value"), [(0, 1.0), (1, 0.8187), (7, 0.2466), (14, 0.0608), (14.01, 0.0), (30, 0.0)]
)
def test_a_new_link_revives_for_fourteen_days(memory: Memory, days: float, value: float) -> None:
    id = memory.add("cos=0.9", created_at=NOW - 180 * DAY).id
    memory.link(memory.add("new project").id, id)
    later = NOW + timedelta(days=days)
    assert part(memory, id, "revival", now=later) == pytest.approx(value, abs=5e-5)


def test_a_cut_vertex_keeps_half_its_life(memory: Memory) -> None:
    old = NOW - 3000 * DAY
    items = [{"content": "cos=0.9", "layer": "activity", "created_at": old}] * 3
    ids = memory.add_many(items, dedup=False).ids
    now = NOW + 60 * DAY  # the revival is over
    assert part(memory, ids[1], "vitality", now=now) < 0.001
    for left, right in pairwise(ids):
        memory.link(left, right)
    assert [round(part(memory, id, "vitality", now=now), 3) for id in ids] == [0.0, 0.5, 0.0]
    assert hit(memory, ids[1], now=now).zone == "stale"
    memory.link(ids[2], ids[0])  # a ring holds without any one of them
    assert part(memory, ids[1], "vitality", now=now) < 0.001


@pytest.mark.parametrize(
    ("value", "label"),
    [
        (0.999, "active"), (0.6, "active"), (0.5999, "stale"), (0.3, "stale"),
        (0.2999, "fading"), (0.1, "fading"), (0.0999, "dormant"), (1e-9, "dormant"),
    ],
)  # fmt: skip
def test_zones(value: float, label: str) -> None:
    assert zone(value) == label


@pytest.mark.parametrize(("days", "label"), [(0, "active"), (10, "dormant")])
def test_for_upkeep_an_old_memory_is_as_old_as_its_stay(
    memory: Memory, days: int, label: str
) -> None:
    """Of activity, v = 1 / (1 + t^1.5): of ten days 0.031, and near 1 on the day of arrival."""
    old = NOW - 900 * DAY
    id = memory.add("cos=0.9", layer="activity", created_at=old).id
    now = NOW + days * DAY
    assert part(memory, id, "vitality", now=now) < 1e-4  # a ranking goes by its own age
    [item] = memory.inspect.zones(now=now)
    assert item.zone == hit(memory, id, now=now).zone == label
    if days:
        assert item.vitality == pytest.approx(1 / (1 + days**1.5))
    else:
        assert memory.upkeep.prune().faded == 0
        assert memory.upkeep.audit()["dormant"].count == 0
        assert memory.inspect.zone_shares(points=1).counts["active"] == (1,)


def test_a_threshold_and_a_scale_may_be_set(memory: Memory) -> None:
    """sigmoid((B - tau) / s): of one use nine days ago B = -ln 3; (-ln 3 + 1) / 2 = -0.0493."""
    memory.add("cos=0.9", created_at=NOW - 9 * DAY)
    own = Profile("own", retrieve(Vector()) >> score(alive(tau=-1.0, scale=2.0)) >> cut())
    [found] = memory.search("cos", profile=own, touch=False)
    assert found.score == pytest.approx(sigmoid(-0.0493), abs=1e-5)
    assert found.score == pytest.approx(sigmoid((-math.log(3.0) + 1.0) / 2.0))


def test_ten_are_pruned_at_a_time_and_only_when_told_to() -> None:
    times = [NOW - 100 * DAY]
    memory = Memory.open("ram://", embedder=None, clock=lambda: times[-1])
    memory.add_many({"content": f"note {i}", "layer": "activity"} for i in range(12))
    times.append(NOW)
    report = memory.upkeep.prune()
    assert (report.run, report.faded, len(report.candidates), report.left) == (None, 12, 10, 2)
    assert memory.get_all({"status": "archived"}).total == 0
    assert len(memory.upkeep.prune(apply=True).candidates) == 10
    assert memory.get_all({"status": "archived"}).total == 10


def test_zones_are_labels_that_move_nothing(memory: Memory) -> None:
    slow = memory.add("cos=0.9", layer="entity").id
    fast = memory.add("cos=0.9", layer="activity").id
    later = NOW + 100 * DAY
    found = memory.inspect.zones(now=later)
    assert [(item.id, item.zone) for item in found] == [(slow, "stale"), (fast, "dormant")]
    assert dict(found.counts) == {"stale": 1, "dormant": 1}
    assert (found.protected, len(memory.inspect.zones({"layer": "entity"}))) == (0.0, 1)
    for item in found:
        assert item.vitality == part(memory, item.id, "vitality", now=later)
        assert item.zone == hit(memory, item.id, now=later).zone
    record = memory.get(fast)
    assert record is not None
    assert record.status == "active"
    memory.link(slow, fast)
    memory.link(fast, memory.add("x").id)
    assert memory.inspect.zones().protected == pytest.approx(1 / 3)


# Three tiers


def test_the_score_is_the_blend_times_the_vitality(memory: Memory) -> None:
    id = memory.add("cos=0.8 docker", title="Docker", created_at=NOW - 4 * DAY).id
    [found] = memory.search("docker", touch=False)
    cosine = found.similarity
    assert cosine is not None
    assert cosine == pytest.approx(0.8, abs=1e-3)
    # the best match of its result set has text rank 1; the name is the query; 4^-0.5 = 1/2
    vitality = sigmoid(math.log(0.5))
    assert found.score == pytest.approx((0.3 * 1.0 + 0.5 * cosine + 0.2 * 1.0) * vitality)
    assert found.details["vitality"] == pytest.approx(1 / 3)
    assert part(memory, id, "vitality", "docker") == pytest.approx(1 / 3)


def test_a_text_rank_is_put_in_proportion_to_be_more_than_noise(memory: Memory) -> None:
    """PostgreSQL ranks a whole match of one body word 0.1 / (pi^2 / 6) = 0.0608, 0.02 once weighed,
    less than 0.04 of a cosine; here the best match counts 1, and a third of it 0.1."""
    assert 0.1 / (math.pi**2 / 6) == pytest.approx(0.0608, abs=5e-5)
    id = memory.add("docker").id
    assert part(memory, id, "text_rank", "docker") == 1.0


def test_a_word_weighs_by_where_it_stands(memory: Memory) -> None:
    """BM25 of a word that counts w, in texts of one length: 2.2 w / (w + 1.2).

    1 in the title, 0.88 / 1.6 in gist and entities, 0.44 / 1.4 in tags, 0.22 / 1.3 in the body.
    """
    word: Any
    for name, word in {"title": "zumbrel", "gist": "zumbrel", "tags": ["zumbrel"]}.items():
        memory.add("kortil pandol", id=name, **{name: word})
    memory.add("kortil pandol", id="entities", entities=["zumbrel"])
    memory.add("kortil pandol zumbrel", id="content")
    ranks = {"title": 1.0, "gist": 0.55, "entities": 0.55, "tags": 0.3143, "content": 0.1692}
    for id, rank in ranks.items():
        assert part(memory, id, "text_rank", "zumbrel") == pytest.approx(rank, abs=5e-5)


@pytest.mark.parametrize(("cosine", "found"), [(0.69, False), (0.71, True)])
def test_a_meaning_is_near_at_a_distance_of_less_than_0_3(
    memory: Memory, cosine: float, found: bool
) -> None:
    memory.add(f"cos={cosine}")
    assert len(memory.search("anything")) == found


@pytest.mark.parametrize(
    ("title", "asked", "similarity"),
    [
        ("Cedric Hurst", "Cedrci Hurst", 0.625),
        ("Jeff Nee", "Jeff", 0.5556),
        ("Spantree", "Spantreee", 0.9),
        ("Sarah Chen", "Sarah", 0.5455),
        ("Cedric Hurst", "Cedrci", None),  # 0.25
        ("山田太郎", "山田", None),  # 0.3333
        ("John Smith", "john's iphone", None),  # 0.3158; as a name of its own, John has 0.4545
    ],
)
@pytest.mark.parametrize("context", [None, "identity", "knowledge"])
def test_a_name_is_near_from_0_4_on(
    memory: Memory, title: str, asked: str, similarity: float | None, context: str | None
) -> None:
    memory.add("somebody", title=title, id="a")
    found = memory.search(asked, options={"context": context}, filters={"id": "a"}, touch=False)
    routes = {name for hit in found for name in hit.routes}
    assert ("trigram" in routes) == (similarity is not None)
    if similarity is not None:
        value = part(memory, "a", "name_similarity", asked, context=context)
        assert value == pytest.approx(similarity, abs=5e-5)


def test_of_two_equal_matches_the_livelier_comes_first(memory: Memory) -> None:
    old = memory.add("cos=0.9 resolved bug", created_at=NOW - 180 * DAY).id
    new = memory.add("cos=0.9 resolved bug", created_at=NOW - DAY).id
    assert memory.search("resolved bug", touch=False).ids == (new, old)


def test_a_candidate_matches_by_words_or_meaning_or_name(memory: Memory) -> None:
    words = memory.add("infrastructure").id
    meaning = memory.add("cos=0.8").id
    name = memory.add("anything", title="Sarah Chen").id
    memory.add("cos=0.6 below the least similarity", title="Sam Chang")
    assert set(memory.search("Sarah Chen infrastructure").ids) == {words, meaning, name}


def test_titles_weigh_more_than_bodies(memory: Memory) -> None:
    body = memory.add("deployment deployment deployment", title="notes on things").id
    title = memory.add("notes on things and things", title="deployment").id
    ids = memory.search("deployment", touch=False).ids
    assert ids == (title, body)


def test_a_phrase_has_to_occur_as_such(memory: Memory) -> None:
    exact = memory.add("we left Docker Desktop for Colima").id
    memory.add("the desktop runs docker")
    tagged = memory.add("x", tags=["docker desktop"]).id
    assert set(memory.search('"docker desktop"').ids) == {exact, tagged}
    assert len(memory.search("docker desktop")) == 3
    assert memory.search('"desktop docker"').ids == ()
    memory.delete(exact)
    assert memory.search('"docker desktop" colima').ids == (tagged,)


def test_a_star_stands_for_the_rest_of_a_word(memory: Memory) -> None:
    ids = [memory.add(text).id for text in ("deployment", "deploying it", "depot", "a plot")]
    assert set(memory.search("deploy*").ids) == set(ids[:2])
    assert set(memory.search("deploy:*").ids) == set(ids[:2])  # as PostgreSQL writes it
    assert set(memory.search("dep*").ids) == set(ids[:3])
    assert memory.search("deplo").ids == ()
    late = memory.add("Deployed again").id  # new words are known at once
    assert late in memory.search("deploy*").ids
    memory.delete(ids[0])
    assert set(memory.search("deployme*").ids) == set()


@pytest.mark.parametrize("query", ["*", '"', '""', "a**b*", '"*" -:&|!()', "x* " * 50, "\0*"])
def test_any_operators_are_safe(memory: Memory, query: str) -> None:
    id = memory.add("x marks the spot").id
    assert set(memory.search(query).ids) <= {id}


# Contexts


def test_each_context_weighs_most_what_it_is_for() -> None:
    """Names for identity, meaning for knowledge; 0.3, 0.5 and 0.2 where no context is given."""
    weights = {name: profiles.get(name).weights for name in profiles.BUILT_IN}
    blend = {"text_rank": 0.3, "semantic": 0.5, "name_similarity": 0.2}
    assert blend.items() <= weights["vitality"].items()
    identity, knowledge = weights["vitality.identity"], weights["vitality.knowledge"]
    assert identity["name_similarity"] > max(0.2, identity["identifier"])
    assert knowledge["semantic"] > max(0.5, knowledge["text_rank"], knowledge["name_similarity"])


def test_a_misspelt_name_is_found_in_the_identity_context(memory: Memory) -> None:
    id = memory.add("runs Spantree", title="Cedric Hurst", layer="entity").id
    memory.add("we asked somebody else about names", title="notes")
    result = memory.search("Cedrci Hurst", options={"context": "identity"}, touch=False)
    assert result.ids == (id,)
    assert part(memory, id, "name_similarity", "Cedrci Hurst", context="identity") == 0.625
    assert (result.profile, result.search_type) == ("vitality.identity", "text")


def test_an_exact_identifier_is_found_in_the_identity_context(tmp_path: Path) -> None:
    aliases = {"Jeff": "Jeffrey Nee"}
    with opened("ram", tmp_path, None, profile="vitality", aliases=aliases) as memory:
        mail = memory.add("a person", entities=["jeff.nee@example.com"]).id
        name = memory.add("a person", entities=["Jeffrey Nee"]).id
        own = memory.add("a person", id="U-4417").id
        for asked, id in {
            "jeff.nee@example.com": mail,
            "who is Jeff?": name,
            "u-4417": own,
        }.items():
            assert memory.search(asked, options={"context": "identity"}).ids == (id,)


def test_the_layer_searched_chooses_the_context(memory: Memory) -> None:
    for layer, context in {
        "entity": "identity", "knowledge": "knowledge", "episodic": "episodic",
        "activity": "activity",
    }.items():  # fmt: skip
        found = memory.search("x", filters={"layer": layer, "kind": "note"})
        assert found.profile == f"vitality.{context}"
    assert memory.search("x", filters={"layer": {"in": ["entity"]}}).profile == "vitality"
    assert memory.search("x", filters={"layer": "entity"}, profile="balanced").profile == "balanced"
    with pytest.raises(InvalidInput, match="context"):
        memory.search("x", options={"context": "dreams"})
    with pytest.raises(InvalidInput, match="context"):
        memory.search("x", options={"context": "identity"}, profile="balanced")


def test_the_episodic_context_goes_by_meaning_alone(memory: Memory) -> None:
    far, near = memory.add("cos=0.3 docker").id, memory.add("cos=0.6").id
    assert memory.search("docker", options={"context": "episodic"}, touch=False).ids == (near, far)


def test_the_knowledge_context_follows_links(memory: Memory) -> None:
    project = memory.add("cos=0.9 AI coding tools").id
    person = memory.add("somebody", title="Ana").id
    friend = memory.add("somebody else", title="Bob").id
    memory.link(project, person, weight=1.0)
    memory.link(friend, person, weight=0.5)
    found = memory.search("coding tools", options={"context": "knowledge"}, touch=False)
    assert found.ids == (project, person, friend)
    match = part(memory, project, "match", "coding tools", context="knowledge")
    activation = [hit.details["activation"] for hit in found]
    assert activation == pytest.approx([match, 0.6 * match, 0.5 * 0.36 * match])


def test_the_activity_context_keeps_to_the_time_that_is_named(memory: Memory) -> None:
    tuesday = NOW - 7 * DAY  # NOW is a Tuesday
    said = memory.add("the release is late", created_at=tuesday).id
    also = memory.add("lunch was good", created_at=tuesday + 3 * HOUR).id
    memory.add("the release is on track", created_at=tuesday + DAY)
    memory.add("the release is planned", created_at=tuesday - 7 * DAY)
    asked = "What was said of the release last Tuesday?"
    result = memory.search(asked, options={"context": "activity"}, touch=False)
    assert result.ids == (said, also)
    assert result.to_dict()["during"] == {
        "start": "2026-03-03T00:00:00+00:00",
        "end": "2026-03-04T00:00:00+00:00",
        "words": "last Tuesday",
    }
    assert len(memory.search("the release", options={"context": "activity"})) == 3
    assert memory.search("what happened in July 2019?", options={"context": "activity"}).ids == ()
    assert len(memory.search(asked)) > 2  # the time is a matter of the context


# Around it


def test_archived_memories_are_left_out_unless_asked_for(memory: Memory) -> None:
    id = memory.add("cos=0.9").id
    memory.update(id, status="archived")
    assert memory.search("cos").ids == ()
    assert memory.search("cos", options={"include_archived": True}).ids == (id,)
    assert memory.search("cos", options={"include_archived": True, "context": "knowledge"}).ids == (
        id,
    )


def test_weights_can_be_tuned(memory: Memory) -> None:
    id = memory.add("cos=0.8 docker").id
    weights = {"text_rank": 0.0, "semantic": 1.0, "name_similarity": 0.0}
    found = hit(memory, id, "docker", weights=weights)
    assert found.similarity is not None
    assert found.score == found.similarity * found.details["vitality"]


def test_the_profiles_are_data() -> None:
    for name, profile in profiles.BUILT_IN.items():
        if name.startswith("vitality"):
            assert Profile.from_json(profile.to_json()) == profile
            assert "vitality" in profile.formula()
    assert profiles.get("vitality").weights["semantic"] == 0.5


def test_what_links_tell_is_known_after_opening_again(tmp_path: Path) -> None:
    with opened("sqlite", tmp_path, None, profile="vitality") as memory:
        id = memory.add("note", title="hub").id
        memory.link(memory.add("other", dedup=False).id, id)
        before = memory.inspect.zones()
    with opened("sqlite", tmp_path, None, profile="vitality") as memory:
        assert memory.inspect.zones() == before
        with opened("sqlite", tmp_path, None) as writer:  # another process
            writer.link(writer.add("third").id, id)
        assert part(memory, id, "structural boost", "hub") == pytest.approx(1.2)
