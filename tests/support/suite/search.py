"""Search: hits, their order, namespaces, scripts, explanations."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from unicodedata import normalize

import pytest

from salience import Memory, Profile
from salience.errors import InvalidInput, NotFound
from salience.ranking.expressions import Col, Signal
from salience.ranking.functions import lookup
from salience.ranking.signals import EntityOverlap, GroupMax
from salience.ranking.stages import cut, retrieve, score
from salience.records.fields import SESSION_CHUNK, TURN_CHUNK
from salience.retrieval.operations import FindSpeakers
from salience.retrieval.routes import ExactMatch, Lexical, MatchAll, Route, Trigram
from salience.testing.conformance._case import (
    EVERYTHING,
    START,
    WORDS,
    StoreCase,
    get_record,
    list_ids,
    perform,
    search_ids,
)
from support.asked import in_options

PROFILES: list[Any] = ["balanced", "composite", WORDS, EVERYTHING]


class Search(StoreCase):
    """`search` and `explain`."""

    def test_words_are_found_by_their_stems(self, memory: Memory) -> None:
        memory.add("We walked along the river.", id="one")
        memory.add("Nothing of the kind.", id="two")
        assert search_ids(memory, "walking rivers") == ["one"]
        assert search_ids(memory, "mountains") == []

    def test_a_namespace_knows_how_many_memories_it_holds(self, memory: Memory) -> None:
        space, other = memory.namespace, memory.for_namespace("other")
        memory.add_many([{"content": f"Note {n}.", "id": str(n), "speaker": "Ana"} for n in "abc"])
        other.add("One more.")
        memory.update("a", content="Another note.")
        memory.delete("b")
        for namespaces, memories in (((space,), 2), ((space, "other"), 3), (("none",), 0)):
            matches = perform(memory, FindSpeakers(namespaces, (), frozenset(), frozenset()))
            assert matches.memories == memories

    def test_a_star_after_any_form_of_an_irregular_word(self, memory: Memory) -> None:
        memory.add("The foundation was poured.", id="beginning")
        memory.add("We find it.", id="form")
        memory.add("Deployments and deployed things.", id="other")
        assert sorted(search_ids(memory, "found*", profile="vitality")) == ["beginning", "form"]
        assert search_ids(memory, "foundat*", profile="vitality") == ["beginning"]
        assert search_ids(memory, "deploy* deployer*", profile="vitality") == ["other"]
        assert search_ids(memory, "deploy:* deployer:*", profile="vitality") == ["other"]
        assert search_ids(memory, "deploym", profile="vitality") == []

    def test_names_are_looked_for_in_other_words_than_texts(self, memory: Memory) -> None:
        memory.add("She runs the platform at Acme.", id="person", title="Sarah Chen")
        memory.add("Acme infrastructure costs more since May.", id="text", title="Budget")
        memory.add("She prunes the roses.", id="exact", title="Rosa", user_id="sarah chen")

        def ids(**options: Any) -> set[str]:
            return set(search_ids(memory, "Acme infrastructure", **in_options(options)))

        vitality = {"profile": "vitality", "semantic": "roses in a garden"}
        assert ids(**vitality, names="Sara Chen") == {"person", "text"}
        assert ids(**vitality, names="Sara Chen", lexical="costs") == {"person", "text"}
        assert ids(**vitality, lexical="prunes") == {"exact"}
        assert ids(**vitality, names="Sara Chen", name_threshold=0.9, lexical="prunes") == {"exact"}
        assert ids(profile="vitality.identity", names="Sarah Chen") == {"person", "exact"}

    def test_the_exact_base_level_counts_all_accesses(self, memory: Memory) -> None:
        memory.add("The boiler.", id="used", created_at=START)
        for days, uses in ((0, 20), (34, 10)):
            for _ in range(uses):
                memory.touch("used", now=START + timedelta(days=days))
        memory.add("The boiler room.", id="new", created_at=START)

        def level(formula: Any) -> str:
            report = memory.explain(
                "boiler",
                "used",
                profile="vitality",
                now=START + timedelta(days=35),
                options={"activation_formula": formula},
            )
            return next(line for line in str(report).splitlines() if "base level" in line)

        assert "2.6064" in level("exact")  # ln(21 * 35^-0.5 + 10)
        assert level("petrov") == level(None)
        assert "2.7771" in level(None)

    def test_names_are_found_by_the_words_inside_them(self, memory: Memory) -> None:
        memory.add("PaymentGatewayClient retries twice.", id="one", tags=["HttpClient"])
        memory.add("Nothing of the kind.", id="two")
        assert search_ids(memory, "payment gateway") == ["one"]
        assert search_ids(memory, "gatew*", profile="vitality") == ["one"]
        assert search_ids(memory, '"PaymentGatewayClient retries"', profile="vitality") == ["one"]

    def test_figures_are_found_with_their_groups_and_without(self, memory: Memory) -> None:
        memory.add("It costs 12,500 euros.", id="one")
        memory.add("It costs 7800 euros.", id="two")
        assert search_ids(memory, "12500")[0] == search_ids(memory, "12,500")[0] == "one"
        assert search_ids(memory, "7,800")[0] == "two"
        assert search_ids(memory, '"12,500 euros"', profile="vitality") == ["one"]

    def test_the_rarer_word_weighs_more(self, memory: Memory) -> None:
        memory.add_many({"id": f"m{i}", "content": "the common word"} for i in range(5))
        memory.add("the rare thing", id="rare")
        assert search_ids(memory, "common rare")[0] == "rare"

    def test_what_was_set_and_judged_counts_alike_everywhere(self, memory: Memory) -> None:
        note = "Ana planted tomatoes."
        memory.add(note, id="plain")
        memory.add(note, id="labelled", entities=["Ben"], tags=["garden"], dedup=False)
        memory.add(note, id="important", importance=1.0, dedup=False)
        memory.add(note, id="doubtful", confidence=0.2, tier="short", dedup=False)
        memory.add(note, id="wrong", dedup=False)
        memory.add("Nothing of the kind.", id="other")
        for _ in range(2):
            memory.feedback("wrong", "incorrect")
        hits = memory.search("Who planted tomatoes in the garden with Ben?", profile="balanced")
        assert hits.ids == ("labelled", "important", "plain", "doubtful", "other", "wrong")
        memory.add("Ana lives in Oslo.", id="oslo", kind="fact", created_at="2024-01-01")
        memory.add("Ana moved to Rome.", id="rome", kind="fact", created_at="2025-01-01")
        first, second, *_ = memory.search("Does Ana live in Oslo?", profile="balanced")
        assert (first.id, second.id) == ("rome", "oslo")
        assert first.score == pytest.approx(second.score + 0.001)

    @pytest.mark.parametrize("profile", PROFILES, ids=str)
    def test_equal_scores_are_ordered_by_id(self, memory: Memory, profile: Any) -> None:
        memory.add_many({"id": id, "content": "the very same"} for id in "hgcadbfe")
        ranked = search_ids(memory, "the very same", profile=profile)
        assert ranked == list("abcdefgh")
        assert search_ids(memory, "the very same", profile=profile, limit=3) == ["a", "b", "c"]

    @pytest.mark.parametrize("profile", PROFILES, ids=str)
    def test_fewer_hits_are_the_first_of_more(self, memory: Memory, profile: Any) -> None:
        memory.add_many(
            {"id": f"m{i:02}", "content": f"word{i % 7} word{i % 5} shared"} for i in range(60)
        )
        everything = memory.search("word3 word4 shared", profile=profile, limit=60, touch=False)
        scores = [hit.score for hit in everything]
        assert scores == sorted(scores, reverse=True)
        assert [hit.rank for hit in everything] == list(range(1, len(everything) + 1))
        for limit in (1, 7, 30):
            some = memory.search("word3 word4 shared", profile=profile, limit=limit, touch=False)
            assert [(h.id, h.score) for h in some] == [
                (h.id, h.score) for h in everything.hits[:limit]
            ]

    def test_hits_below_the_least_score_are_left_out(self, memory: Memory) -> None:
        memory.add_many({"id": f"m{i}", "content": "apple " * i + "pear"} for i in range(5))
        ranked = memory.search("apple", profile=WORDS)
        bound = ranked[1].score
        cut_off = memory.search("apple", profile=WORDS, options={"min_score": bound})
        assert cut_off.ids == ranked.ids[:2]
        assert memory.search("apple", profile=WORDS, options={"min_score": 1e9}).ids == ()

    @pytest.mark.parametrize("route", [Trigram(("content",)), ExactMatch(("content",))], ids=str)
    def test_texts_are_compared_as_they_are_now(self, memory: Memory, route: Route) -> None:
        spelt = Profile("spelt", retrieve(route) >> score(Col(f"{route.name}.score")) >> cut())
        memory.add("Blue whale", id="a")
        assert search_ids(memory, "blue whale", profile=spelt) == ["a"]
        memory.add("Red fox", id="b")
        memory.delete("a")
        memory.add("Green frog", id="c")
        assert search_ids(memory, "red fox", profile=spelt) == ["b"]
        assert search_ids(memory, "green frog", profile=spelt) == ["c"]
        assert search_ids(memory, "blue whale", profile=spelt) == []

    @pytest.mark.parametrize(
        ("signal", "wanted"),
        [
            (Col("exact.score").default(0.0), {"text": 1.0, "list": 1.0, "texts": 1.0}),
            (Col("trigram.score").default(0.0), {"text": 1.0, "list": 1.0, "texts": 4 / 9}),
            (lookup("metadata.k", {"Zug": 2.0, "5": 3.0}).default(0.0), {"text": 2.0}),
            (EntityOverlap(("metadata.k", "tags")), {"text": 1.0, "list": 1.0, "texts": 1.0}),
            (
                GroupMax(Col("importance").default(0.0), "metadata.k"),
                {"text": 0.5, "list": 0.5, "texts": 0.5, "true": 0.5, "one": 1.0, "again": 1.0}
                | {"mapping": 0.5, "none": 0.5},
            ),
        ],
        ids=lambda value: str(value) if isinstance(value, Signal) else "",
    )
    def test_only_texts_of_metadata_are_compared_as_texts(
        self, memory: Memory, signal: Signal, wanted: dict[str, float]
    ) -> None:
        team = memory.for_namespace("team")
        metadata: dict[str, Any] = {
            "text": "Zug", "list": ["Zug", 5, {"Zug": "Zug"}], "texts": ["zug", "Bern"],
            "true": True, "one": 1, "again": 1, "mapping": {"Zug": [1]}, "none": None,
        }  # fmt: skip
        for each in (memory, team):
            each.add_many(
                {"id": id, "content": id, "metadata": {"k": value}, "importance": importance}
                for id, value in metadata.items()
                for importance in [1.0 if id == "again" else 0.5]
            )
        fields = ("metadata.k", "tags")
        routes = (MatchAll(), Trigram(fields, min_similarity=0.1), ExactMatch(fields))
        profile = Profile("odd", retrieve(*routes, depth=None) >> score(signal) >> cut())
        for namespaces in (["default"], ["team", "default"]):
            hits = memory.search("Zug", profile=profile, namespaces=namespaces, limit=50)
            scores = {hit.id: hit.score for hit in hits}
            assert scores == {**dict.fromkeys(metadata, 0.0), **wanted}

    def test_a_hit_says_which_routes_found_it(self, memory: Memory) -> None:
        memory.add("alpha", id="a")
        memory.add("beta", id="b")
        hits = {hit.id: hit for hit in memory.search("alpha")}
        assert dict(hits["a"].routes) == {"lexical": 1, "vector": 1}
        assert dict(hits["b"].routes) == {"vector": 2}
        assert hits["a"].record == get_record(memory, "a") or hits["a"].record.access_count == 0

    def test_a_question_like_nothing_is_ranked_by_the_rest(self, memory: Memory) -> None:
        memory.add("Tea.", id="low", importance=0.1)
        memory.add("Bread.", id="high", importance=0.9)
        ranked = memory.search("???", profile="composite", explain=True)  # its vector is zero
        assert ranked.ids == ("high", "low")
        assert ranked[0].score == pytest.approx(0.3 * 0.9 + 0.2 * 1.0)
        assert search_ids(memory, "???", profile="balanced") == []

    def test_a_word_of_an_erased_memory_may_be_short_for_a_name(self, memory: Memory) -> None:
        memory.add("Pasta with lemon.", id="m", speaker="Melanie")
        memory.add("Rice with lemon and pasta.", id="b", speaker="Ben")
        memory.add("Mel is late.", id="d", speaker="Ben")

        def speaks(id: str) -> float | None:
            query = "What did Mel cook with pasta?"
            hits = memory.search(query, touch=False, explain=True)
            [tree] = [hit.explanation for hit in hits if hit.id == id]
            part = tree.find("named_speaker") if tree else None
            return part.value if part else None

        assert not speaks("m")
        memory.delete("d")
        assert speaks("m")

    def test_a_date_is_when_a_memory_was_written_or_what_it_speaks_of(self, memory: Memory) -> None:
        texts = {
            "plan": "The roof is mended on 12 June.",
            "letter": "The roof is mended, June 12th they say.",
            "figures": "2026-06-12: the roof is mended.",
            "month": "The roof is mended in June, 1200 euros.",
            "year": "The roof was never mended in 2026, not by 12 people.",
            "modal": "It may take 12 days until the roof is mended.",
            "none": "The roof is mended.",
        }
        written = "2024-02-03T10:00:00Z"
        memory.add_many({"id": i, "content": t, "created_at": written} for i, t in texts.items())
        memory.add("A roof is mended.", id="then", created_at="2026-06-13T10:00:00Z")
        memory.add("On 12 June mended: a roof.", id="fact", kind="fact", created_at=written)
        memory.add("Mended was a roof.", id="told", kind="fact", created_at="2026-06-12T10:00:00Z")

        def dated(question: str) -> set[str]:
            hits = memory.search(question, touch=False, explain=True, limit=50)
            trees = {hit.id: hit.explanation for hit in hits if hit.explanation}
            assert set(trees) == {*texts, "then", "fact", "told"}
            parts = {id: tree.find("asked_time") for id, tree in trees.items()}
            return {id for id, part in parts.items() if part and part.value > 0.1}

        days = {"plan", "letter", "figures", "fact"}
        assert dated("Which roof is mended on 12 June 2026?") == days | {"then"}
        june = days - {"figures"} | {"month", "then"}
        assert dated("Which roof is mended in June?") == june
        assert dated("Which roof is mended in May 2025?") == set()
        assert dated("Which roof is mended on 23 June 2025?") == set()
        assert dated("Which roof was mended in 2026?") == {"figures", "year", "then"}
        assert dated("Which roof is mended?") == set()

    def test_what_is_edited_or_erased_speaks_of_no_date(self, memory: Memory) -> None:
        signal = Col("mentions_date")
        by_day = Profile("day", retrieve(MatchAll(), depth=None) >> score(signal) >> cut())

        def speaking() -> list[str]:
            hits = memory.search("on 12 June", profile=by_day, touch=False)
            return sorted(hit.id for hit in hits if hit.score)

        memory.add("Tea on 12 June.", id="a")
        memory.add("Cake on 12 June.", id="b")
        memory.add("Bread on 11 June.", id="c")
        assert speaking() == ["a", "b"]
        memory.delete("a")
        memory.update("b", content="Cake on 14 June.")
        memory.update("c", content="Bread on the 12th of June.")
        assert speaking() == ["c"]

    def test_a_common_word_names_only_with_the_rest_of_the_name(self, memory: Memory) -> None:
        memory.add("The disk of it is full.", id="b", speaker="build server")
        memory.add("The heating cost a fortune.", id="h", speaker="Bill")

        def named(query: str) -> set[str]:
            hits = memory.search(query, touch=False, explain=True)
            trees = (
                (hit.id, hit.explanation and hit.explanation.find("named_speaker")) for hit in hits
            )
            return {id for id, part in trees if part and part.value}

        assert named("Is the disk of a bigger server full?") == set()
        assert named("Is the disk of the build server full?") == {"b"}
        assert named("What did the heating bill cost?") == set()
        assert named("What did the heating of Bill cost?") == {"h"}

    def test_nothing_is_found_in_nothing(self, memory: Memory) -> None:
        for profile in PROFILES:
            assert memory.search("anything", profile=profile).ids == ()

    @pytest.mark.parametrize("profile", PROFILES, ids=str)
    def test_the_explanation_is_the_score(self, memory: Memory, profile: Any) -> None:
        memory.add_many(
            {"id": f"m{i:02}", "content": f"word{i % 7} shared", "importance": i / 40}
            for i in range(40)
        )
        hits = memory.search("word3 shared", profile=profile, limit=5, explain=True, touch=False)
        for hit in hits:
            assert hit.explanation is not None
            assert hit.explanation.value == hit.score
            alone = memory.explain("word3 shared", hit.id, profile=profile)
            assert alone.score == hit.score
            assert alone.rank == hit.rank

    def test_what_was_not_returned_can_be_explained(self, memory: Memory) -> None:
        memory.add_many({"id": f"m{i}", "content": "apple " * (9 - i) + "pear"} for i in range(9))
        memory.add("grapes", id="other", kind="fact")
        reason = memory.explain("apple", "m8", profile=WORDS, limit=3)
        assert not reason.found
        assert reason.rank == reason.of == 9
        assert reason.score is not None
        assert memory.explain("apple", "other", profile=WORDS).score is None
        assert memory.explain("apple", "m1", filters={"kind": "fact"}).score is None
        with pytest.raises(NotFound, match="nobody"):
            memory.explain("apple", "nobody")


_SPELLING = Profile(
    "spelling", retrieve(Lexical(spelling=True), depth=None) >> score(Col("lexical.score")) >> cut()
)


class Spelling(StoreCase):
    """Words of a query that no memory holds."""

    def _taken(self, memory: Memory, query: str, **options: Any) -> dict[str, tuple[str, ...]]:
        found = memory.search(query, profile=_SPELLING, touch=False, **options)
        return dict(found.taken)

    def test_a_misspelt_word_finds_what_it_is_meant_for(self, memory: Memory) -> None:
        memory.add_many(
            [
                {"content": "The service moved to mongodb.", "id": "one"},
                {"content": "Written in typescript.", "id": "two", "title": "Frontend"},
                {"content": "A red kayak.", "id": "three"},
            ]
        )
        assert search_ids(memory, "mongodv", profile=_SPELLING) == ["one"]
        assert self._taken(memory, "the typsecript frontned") == {
            "typsecript": ("typescript",),
            "frontned": ("frontend",),
        }
        assert search_ids(memory, "mongodv", profile=WORDS) == []

    def test_a_taken_word_counts_less_than_the_word_itself(self, memory: Memory) -> None:
        memory.add_many(["A red kayak.", "A blue boat."])
        [right] = memory.search("kayak", profile=_SPELLING, touch=False)
        [taken] = memory.search("kayka", profile=_SPELLING, touch=False)
        assert taken.score == pytest.approx(0.85 * right.score)  # letters swapped: 1 - 0.3 * 0.5

    def test_words_that_are_right_or_kept_as_they_are_find_nothing_else(
        self, memory: Memory
    ) -> None:
        memory.add("A red kayak was carried to mongodb by typescript.")
        for query in ("kayak", "married", '"kayka"', "kayka*", "mongod2", "src/kayka", "KYAK"):
            assert self._taken(memory, query) == {}, query

    def test_no_word_of_an_erased_memory_or_of_another_namespace(self, memory: Memory) -> None:
        memory.add("A red florbin.", id="one")
        memory.add("A blue sampan.", id="two")
        memory.for_namespace("other").add("A green paddleboard.")
        assert self._taken(memory, "paddelboard") == {}
        assert self._taken(memory, "florbni") == {"florbni": ("florbin",)}
        both = self._taken(memory, "paddelboard florbni", namespaces=["default", "other"])
        assert both == {"paddelboard": ("paddleboard",), "florbni": ("florbin",)}
        memory.update("two", content="A blue catamaran.")
        assert self._taken(memory, "sampna") == {}
        assert self._taken(memory, "catamarann") == {"catamarann": ("catamaran",)}
        memory.delete("one")
        assert self._taken(memory, "florbni") == {}

    def test_a_misspelt_name_names_the_speaker(self, memory: Memory) -> None:
        memory.add("I like tea.", id="one", speaker="Caroline")
        memory.add("I like rice.", id="two", speaker="Jon")
        for query, id in (
            ("What does Carolien like?", "one"),
            ("What does Carolyn like?", "one"),
            ("What does John like?", "two"),
        ):
            assert memory.search(query, touch=False).ids[0] == id, query


class Namespaces(StoreCase):
    """A namespace never sees another, unless both are named."""

    def test_namespaces_are_apart(self, memory: Memory) -> None:
        other = memory.for_namespace("other")
        memory.add("a red apple", id="same", importance=0.1)
        other.add("a green apple", id="same", importance=0.9)
        other.add("an apple tree", id="theirs")
        assert search_ids(memory, "apple") == ["same"]
        assert sorted(search_ids(other, "apple")) == ["same", "theirs"]
        assert search_ids(memory, "green") == search_ids(other, "red") == []
        assert get_record(memory, "same").importance == 0.1
        assert get_record(other, "same").importance == 0.9
        assert memory.get("theirs") is None
        assert list_ids(memory) == ["same"]
        with pytest.raises(NotFound):
            memory.update("theirs", importance=0.5)
        with pytest.raises(NotFound):
            memory.link("same", "theirs")
        with pytest.raises(NotFound):
            memory.explain("apple", "theirs")
        assert not memory.delete("theirs")
        memory.update("same", content="a blue plum")
        assert memory.delete("same")
        assert sorted(search_ids(other, "apple")) == ["same", "theirs"]

    def test_links_are_apart(self, memory: Memory) -> None:
        other = memory.for_namespace("other")
        for each in (memory, other):
            each.add_many([{"id": "a", "content": "x"}, {"id": "b", "content": "y"}])
        memory.link("a", "b")
        assert other.links() == []
        other.link("b", "a", "supports")
        memory.delete("a")
        assert memory.links() == []
        assert [link.type for link in other.links()] == ["supports"]

    def test_the_figures_of_one_do_not_move_the_other(self, memory: Memory) -> None:
        memory.add_many({"id": f"m{i}", "content": f"apple word{i}"} for i in range(5))
        before = [(h.id, h.score) for h in memory.search("apple word3", touch=False)]
        memory.for_namespace("other").add_many({"content": "word3 " * 5} for _ in range(50))
        assert [(h.id, h.score) for h in memory.search("apple word3", touch=False)] == before

    def test_several_at_once(self, memory: Memory) -> None:
        team = memory.for_namespace("team")
        memory.add_many({"id": id, "content": f"common {id}"} for id in ("a", "c", "e"))
        team.add_many({"id": id, "content": f"common {id}"} for id in ("b", "c", "d"))
        both = ["default", "team"]
        hits = memory.search(
            "common", namespaces=both, profile=EVERYTHING, limit=50, touch=False, explain=True
        )
        assert sorted(hits.ids) == ["a", "b", "c", "c", "d", "e"]
        assert {h.record.namespace for h in hits if h.id == "c"} == set(both)
        alone = {
            (h.record.namespace, h.id): h.score
            for each in (memory, team)
            for h in each.search("common", profile=EVERYTHING, limit=50, touch=False)
        }
        assert {(h.record.namespace, h.id): h.score for h in hits} == alone
        assert all(h.explanation and h.explanation.value == h.score for h in hits)
        for limit in (1, 3):
            some = memory.search(
                "common", namespaces=both, profile=EVERYTHING, limit=limit, touch=False
            )
            assert some.ids == hits.ids[:limit]

    def test_sessions_of_two_are_two(self, memory: Memory) -> None:
        def scores(session: str) -> dict[str, float]:
            mine, theirs = (
                memory.for_namespace(f"my {session}"),
                memory.for_namespace(f"their {session}"),
            )
            for each, id, said in (
                (mine, "a", "Shall we fly?"),
                (mine, "b", "Nothing of note here."),
                (theirs, "c", "The budget of the launch is 40."),
                (theirs, "d", "Launch costs and the budget."),
            ):
                name = "s" if each is mine else session
                each.add(said, id=id, session_id=name, speaker="Ana", created_at=START)
            spaces = [mine.namespace, theirs.namespace]
            hits = memory.search(
                "budget of the launch", namespaces=spaces, touch=False, explain=True
            )
            assert all(hit.explanation and hit.explanation.value == hit.score for hit in hits)
            assert not any("namespace" in hit.details for hit in hits)
            return {hit.id: hit.score for hit in hits}

        assert scores("s") == scores("other")

    def test_turns_support_sessions_of_their_own_namespace(self, memory: Memory) -> None:
        team = memory.for_namespace("team")
        for each in (memory, team):
            each.add("a common thing", id="turn", session_id="s", kind=TURN_CHUNK)
            each.add("a common thing", id="whole", session_id="s", kind=SESSION_CHUNK)
        team.add("a common thing, more or less", id="more", session_id="s", kind=TURN_CHUNK)
        spaces = ["default", "team"]
        hits = memory.search("common thing", profile="multi_route", namespaces=spaces, touch=False)
        turns = {
            hit.record.namespace: hit.details["turn_support.supporting_turn_count"] for hit in hits
        }
        assert turns == {"default": 1, "team": 2}

    def test_equal_ids_are_ordered_by_namespace(self, memory: Memory) -> None:
        spaces = ["default", "zoo", "team"]
        for space in ("zoo", "team", "default"):
            memory.for_namespace(space).add_many(
                ({"id": f"m{i:02}", "content": f"tea number {i}"} for i in range(30)), dedup=False
            )
        for profile in ("composite", WORDS):  # with all ranks, and with those of the hits
            options: dict[str, Any] = {"profile": profile, "namespaces": spaces, "touch": False}
            hits = memory.search("tea", limit=90, **options)
            names = [(-hit.score, hit.id, hit.record.namespace) for hit in hits]
            assert names == sorted(names)
            for limit in (1, 2, 3, 20, 64, 65):
                some = memory.search("tea", limit=limit, **options)
                assert [(hit.record, hit.routes) for hit in some] == [
                    (hit.record, hit.routes) for hit in hits.hits[:limit]
                ]

    def test_the_namespace_may_decide(self, memory: Memory) -> None:
        memory.add("a common thing", id="a")
        memory.for_namespace("team").add("a common thing", id="b")
        preferring = score(lookup("namespace", {"team": 2.0, "default": 1.0}))
        profile = Profile("mine", retrieve(MatchAll(), depth=None) >> preferring >> cut())
        for spaces in (["default", "team"], ["team"]):
            hits = memory.search("common", namespaces=spaces, profile=profile, touch=False)
            expected = {"default": ("a", 1.0), "team": ("b", 2.0)}
            assert {(hit.id, hit.score) for hit in hits} == {expected[space] for space in spaces}

    def test_a_search_of_several_touches_each_in_its_own(self, memory: Memory) -> None:
        team = memory.for_namespace("team")
        memory.add("common thing", id="same")
        team.add("common thing", id="same")
        memory.search("common", namespaces=["default", "team"], limit=1)
        counts = (get_record(memory, "same").access_count, get_record(team, "same").access_count)
        assert sorted(counts) == [0, 1]
        memory.search("common", namespaces=["team"])
        assert get_record(team, "same").access_count == counts[1] + 1

    def test_naming_none_or_a_text_is_refused(self, memory: Memory) -> None:
        for wrong in ([], "default", [""], [5], 5):
            with pytest.raises(InvalidInput) as caught:
                memory.search("x", namespaces=wrong)  # type: ignore[arg-type]
            assert caught.value.field == "namespaces"


class Scripts(StoreCase):
    """Texts of every script are stored unchanged and found."""

    @pytest.mark.one_in(3)
    @pytest.mark.parametrize(
        ("content", "query"),
        [
            ("山田太郎は東京の大学で働いています。", "東京 大学"),
            ("我们昨天在北京吃了烤鸭", "北京烤鸭"),
            ("我家的猫今年三岁。", "猫"),
            ("佐々木さんは京都にいる。", "佐々木"),
            ("서울에서 커피를 마셨다", "서울"),
            ("할머니는 약을 드신다.", "약"),
            ("เมื่อวานฉันไปตลาดน้ำ", "ตลาดน้ำ"),
            ("سافرت مريم إلى القاهرة", "القاهرة"),
            ("Мы переехали в Москву", "Москва"),
            ("Куплен новый чайник.", "новые"),
            ("Στην Αθήνα έβρεχε", "αθηνα"),
            ("Café Zoë cre\u0301me bru\u0302le\u0301e", "cafe creme brulee"),
            ("STRASSE und Maß", "straße mass"),
            ("Party 🎉🎉 am Samstag 👩‍👩‍👧", "party samstag"),
            ("ﬁne ＡＢＣ ½", "fine abc"),
        ],
    )
    def test_text_is_kept_and_found(self, memory: Memory, content: str, query: str) -> None:
        memory.add("Something else entirely.", id="other")
        memory.add(content, id="one", title=content, tags=[content], metadata={content: content})
        record, name = get_record(memory, "one"), normalize("NFC", content)
        assert (record.content, record.title, record.tags) == (content, content, (name,))
        assert dict(record.metadata) == {name: content}
        assert search_ids(memory, query) == ["one"]
        assert search_ids(memory, query, filters={f"metadata.{content}": content}) == ["one"]

    def test_ids_and_namespaces_may_be_of_any_script(self, memory: Memory) -> None:
        room = memory.for_namespace("命名空间 🎉 %_'\"")
        id = "識別子 ' \" % _ \\ \n"
        room.add("hello there", id=id)
        assert search_ids(room, "hello") == [id]
        assert get_record(room, id).namespace == room.namespace
        assert room.delete(id)
