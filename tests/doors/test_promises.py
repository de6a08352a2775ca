"""The promises of a memory, each written once and kept at every door that can be asked for it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from doors.parties import Party, Refused
from doors.places import Place

SECRET = "Ana keeps the key of the safe under the third stone."
CHAT = [
    {"role": "user", "content": "Where is the boat moored?"},
    {"role": "assistant", "content": "At the pier of Setúbal."},
]


def refusal(call: Any, *arguments: Any, **options: Any) -> str:
    """By which kind of refusal a call ends."""
    with pytest.raises(Refused) as caught:
        call(*arguments, **options)
    kind: str = caught.value.kind
    return kind


def everything(party: Party, id: str) -> str:
    """All that a door tells somebody who looks for the secret."""
    return party.read("the key of the safe", id)


# Isolation


def test_nothing_is_told_of_another_namespace(place: Place, namespace: str) -> None:
    ana, ben = place.party(namespace), place.party(f"{namespace}-ben", "ben")
    before = everything(ben, "nobody")
    id = ana.add(SECRET)
    assert "stone" in everything(ana, id)
    after = everything(ben, id)
    assert "stone" not in after
    assert namespace not in after.replace(f"{namespace}-ben", "")
    assert len(after) == pytest.approx(len(before), abs=200)  # times and ids differ
    assert refusal(ben.change, id, "It is mine.") == refusal(ben.delete, id) == "missing"
    assert ana.get(id) == SECRET


@pytest.mark.needs("ids")
def test_an_id_that_another_namespace_has_is_free(place: Place, namespace: str) -> None:
    ana, ben = place.party(namespace), place.party(f"{namespace}-ben", "ben")
    assert ana.add(SECRET, id="m") == ben.add("Ben has a cello.", id="m") == "m"
    ben.change("m", "Ben has a viola.")
    ben.delete("m")
    assert ana.get("m") == SECRET


@pytest.mark.needs("users")
def test_a_user_goes_without_taking_another_along(place: Place, namespace: str) -> None:
    ana, ben = place.party(namespace), place.party(f"{namespace}-ben", "ben")
    for party in (ana, ben):
        party.add("I keep a boat at the pier.", user_id="ana")
    kept = ana.add("I keep a horse in the stable.", user_id="аna")  # a Cyrillic letter
    assert ana.forget("ana")["memories"] == 1
    assert ana.texts() == ["I keep a horse in the stable."]
    assert ana.get(kept)
    assert ben.texts() == ["I keep a boat at the pier."]


@pytest.mark.needs("keys")
def test_a_key_opens_no_other_namespace(place: Any, namespace: str) -> None:
    place.party(namespace).add(SECRET)
    key = place.key(f"{namespace}-ben", "ben").text
    for name in (namespace, f"{namespace}-ben/../{namespace}", "*", f"{namespace}-ben\0"):
        with pytest.raises(Refused) as caught:
            place.enter(key, name).add("Ben was here.")
        assert caught.value.kind in ("missing", "invalid")
    assert place.party(namespace).texts() == [SECRET]


@pytest.mark.needs("keys")
def test_a_key_does_what_its_scopes_say(place: Place, namespace: str) -> None:
    id = place.party(namespace).add(SECRET)
    reader = place.party(namespace, "reader", ["memories:read"])
    assert reader.search("the key of the safe") == [SECRET]
    assert refusal(reader.add, "Ben has a cello.") == "denied"
    assert refusal(reader.delete, id) == refusal(reader.change, id, "x") == "denied"


# Idempotency


def _add(party: Party, text: str, once: str) -> Any:
    return party.add(text, once=once)


def _chat(party: Party, text: str, once: str) -> Any:
    return party.chat([*CHAT, {"role": "user", "content": text}], once=once)


def _batch(party: Party, text: str, once: str) -> Any:
    return party.batch(["Ben has a cello.", text], once=once)


WRITES = {"add": _add, "chat": _chat, "batch": _batch}


def written(place: Place, kind: str) -> Any:
    """A kind of write, if the door has it."""
    if kind not in place.VERBS:
        pytest.skip(f"there is no {kind} at this door")
    return WRITES[kind]


@pytest.mark.needs("once")
@pytest.mark.parametrize("kind", WRITES)
def test_a_write_that_is_sent_again_is_done_once(place: Place, namespace: str, kind: str) -> None:
    make = written(place, kind)

    def write(party: Party, text: str = SECRET) -> Any:
        return make(party, text, "k1")

    first = write(place.party(namespace))
    texts = place.party(namespace).texts()
    assert write(place.party(namespace)) == first
    assert refusal(write, place.party(namespace), "Another text.") == "reused"
    place.restart()  # the answers of a server go with it
    assert write(place.party(namespace)) == first
    assert refusal(write, place.party(namespace), "Another text.") == "reused"
    assert place.party(namespace).texts() == texts
    write(place.party(f"{namespace}-ben", "ben"), "Another text.")


@pytest.mark.needs("once")
@pytest.mark.parametrize("kind", WRITES)
def test_a_long_idempotency_key_is_one_as_well(place: Place, namespace: str, kind: str) -> None:
    make, ana = written(place, kind), place.party(namespace)
    for letter in "ab":
        key = place.LONGEST_KEY * letter
        first = make(ana, f"{SECRET} {letter}", key)
        assert make(ana, f"{SECRET} {letter}", key) == first
        assert refusal(make, ana, "Another text.", key) == "reused"


@pytest.mark.needs("once")
@pytest.mark.parametrize("kind", WRITES)
def test_a_write_that_was_refused_may_be_sent_again(
    place: Place, namespace: str, kind: str
) -> None:
    make, ana = written(place, kind), place.party(namespace)
    if kind != "batch":  # of which a wrong item alone is rejected
        assert refusal(make, ana, "x" * 1_000_001, "k1") == "invalid"
    first = make(ana, SECRET, "k1")
    assert any(SECRET in text for text in ana.texts())
    assert make(ana, SECRET, "k1") == first


@pytest.mark.needs("once", "ids")
def test_a_write_that_was_in_the_way_of_another_may_be_sent_again(
    place: Place, namespace: str
) -> None:
    ana = place.party(namespace)
    ana.add("Ben has a cello.", id="m")
    assert refusal(ana.add, SECRET, id="m", once="k1")
    ana.delete("m")
    assert ana.add(SECRET, id="m", once="k1") == "m"
    assert ana.texts() == [SECRET]


@pytest.mark.needs("once", "keys")
def test_the_idempotency_keys_of_others_are_others(place: Place, namespace: str) -> None:
    ana, ben = place.party(namespace), place.party(namespace, "ben")
    assert ana.add(SECRET, once="k1") != ben.add("Ben has a cello.", once="k1")
    assert ana.add(SECRET, once="k1") != ben.add("Ben has a cello.", once="k1")
    assert sorted(ana.texts()) == [SECRET, "Ben has a cello."]


# Erasure


@pytest.mark.needs("users")
def test_what_was_erased_is_told_by_no_door(place: Place, namespace: str) -> None:
    ana = place.party(namespace)
    id = ana.add(SECRET, user_id="ana")
    ana.change(id, "The key lies beneath the fourth stone now.")
    other = ana.add("Ben has a cello.", user_id="ben")
    receipt = ana.forget("ana")
    assert receipt["memories"] == 1
    if "remaining" in receipt:
        assert not any(receipt["remaining"].values())
        assert receipt["erased"]["events"] >= 2
        assert "backups" in str(receipt["untouched"])
    told = everything(ana, id)
    assert "stone" not in told
    assert ana.texts() == [ana.get(other)] == ["Ben has a cello."]


@pytest.mark.needs("users", "once")
def test_no_kept_answer_brings_back_what_was_erased(place: Place, namespace: str) -> None:
    ana = place.party(namespace)
    ana.add(SECRET, user_id="ana", once="k1")
    assert ana.forget("ana")["memories"] == 1
    with suppress(Refused):  # or it is a new memory
        assert ana.get(ana.add(SECRET, user_id="ana", once="k1")) == SECRET


def test_what_is_deleted_is_gone(place: Place, namespace: str) -> None:
    ana = place.party(namespace)
    id = ana.add(SECRET)
    ana.delete(id)
    assert "stone" not in everything(ana, id)
    assert ana.get(id) is None
    assert refusal(ana.delete, id) == refusal(ana.change, id, "x") == "missing"


# Versions


@pytest.mark.needs("versions")
def test_a_change_of_an_older_version_is_refused(place: Place, namespace: str) -> None:
    ana = place.party(namespace)
    id = ana.add("The gate code is 4711.")
    ana.change(id, "The gate code is 4712.", if_version=1)
    assert refusal(ana.change, id, "The gate code is 4713.", if_version=1) == "conflict"
    assert ana.get(id) == "The gate code is 4712."
    ana.change(id, "The gate code is 4713.", if_version=2)


# Who did it


@pytest.mark.needs("actors")
def test_each_event_tells_who_did_it(place: Place, namespace: str) -> None:
    id = place.party(namespace).add(SECRET)
    place.party(namespace, "ben").change(id, "Under the fourth stone.")
    names = [place.actor(namespace, name) for name in ("ana", "ben")]
    assert place.party(namespace).actors(id) == names


@pytest.mark.needs("actors")
def test_nobody_says_that_another_did_it(place: Place, namespace: str) -> None:
    ben = place.party(namespace, "ben")
    with pytest.raises((Refused, TypeError)):
        ben.add(SECRET, actor="ana")
    assert ben.texts() == []


# Limits and odd input


@pytest.mark.parametrize("text", ["", " \n", "x" * 1_000_001], ids=["empty", "blank", "too long"])
def test_a_text_that_cannot_be_kept_is_refused(place: Place, namespace: str, text: str) -> None:
    ana = place.party(namespace)
    with pytest.raises(Refused) as caught:
        ana.add(text)
    assert caught.value.kind == "invalid"
    assert any(name in caught.value.text for name in ("content", "messages"))
    assert ana.texts() == []


@pytest.mark.needs("limit")
@pytest.mark.parametrize("limit", [0, -1, 10**9, "many"])
def test_a_limit_out_of_bounds_is_refused(place: Place, namespace: str, limit: Any) -> None:
    ana = place.party(namespace)
    with pytest.raises(Refused) as caught:
        ana.search("anything", limit=limit)
    assert (caught.value.kind, "limit" in caught.value.text) == ("invalid", True)


ODD = {
    "NFD": "Ana is in the cafe\u0301.",
    "a family": "Ana drew 👩‍👩‍👧‍👦 today.",
    "a power": "There are 10⁶ of them.",
    "right to left": "קפה عربي, and so on.",
    "line separator": "One\u2028two.",
    "a script": "<script>alert(1)</script> & 'x' \"y\" \\ %s {0}",
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_text_is_kept_as_it_is(place: Place, namespace: str, name: str) -> None:
    ana, text = place.party(namespace), ODD[name]
    assert ana.get(ana.add(text)) == ana.shown(text)
    ana.search(text)


@pytest.mark.needs("halves")
def test_half_an_emoji_costs_its_own_text_alone(place: Place, namespace: str) -> None:
    ana = place.party(namespace)
    assert refusal(ana.add, "Ana likes \ud83d.") == "invalid"
    with suppress(Refused):  # or nothing is found
        assert ana.search("Ana likes \ud83d.") == []
    ana.add(SECRET)
    assert ana.texts() == [SECRET]
