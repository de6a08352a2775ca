"""Requests to forget: named in the outcome, retired where a chat asks, and brought back by undo."""

from __future__ import annotations

import pytest

from salience import Memory
from salience.errors import InvalidInput

CASES = (
    ("I live in Ghent.", "Forget that I live in Ghent, please."),
    ("I am allergic to nuts.", "Please forget that I am allergic to nuts."),
    ("My phone number is 555-0100.", "Delete my phone number from your memory."),
    ("I got divorced in 2019.", "You can drop what I said about my divorce."),
)
OTHERS = ("I love tea.", "My brother has a boat in Ostend.", "We meet on Mondays at nine.")


def said(content: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": content}]


@pytest.mark.parametrize(("told", "request_"), CASES)
def test_what_a_chat_asks_to_forget_is_told_no_longer_until_that_is_undone(
    told: str, request_: str
) -> None:
    with Memory("ram://") as memory:
        meant = memory.add(said(told), user_id="ana").id
        others = [memory.add(said(text), user_id="ana").id for text in OTHERS]
        of_ben = memory.add(said(told), user_id="ben").id
        added = memory.add(said(request_), user_id="ana")
        assert added.items[0].forgets == (meant,)
        assert {fact.memory.id for fact in memory.about("ana")} <= {*others}
        assert meant not in memory.search(told, user_id="ana").ids
        assert told not in memory.get_context(told, filters={"user_id": "ana"}).text
        assert memory[of_ben].status == "active"
        assert memory[meant].content == told  # it is not erased
        assert added.run is not None
        assert set(memory.undo(added.run).restored) == {meant, added.id}
        assert meant in memory.search(told, user_id="ana").ids


def test_a_text_that_is_no_message_only_names_what_it_asks_to_forget() -> None:
    with Memory("ram://") as memory:
        meant = memory.add("I am allergic to nuts.").id
        added = memory.add("Please forget that I am allergic to nuts.")
        [item] = added.items
        assert (item.outcome, item.forgets, added.run) == ("ADDED", (meant,), None)
        assert item.remedy == f'memory.archive(["{meant}", "{item.id}"])'
        assert [fact.memory.id for fact in memory.about()] == [meant]  # not what asks
        retiring = memory.add("Forget what I told you about nuts.", forget="retire")
        assert meant in (retiring.items[0].forgets or ())
        assert memory.about().facts == ()
        with pytest.raises(InvalidInput, match=r"^forget: is 'erase'; use suggest or retire"):
            memory.add("Forget it.", forget="erase")  # type: ignore[arg-type]


def test_what_is_pinned_or_said_besides_stays() -> None:
    with Memory("ram://") as memory:
        pinned = memory.add(said("I am allergic to nuts."), user_id="ana").id
        memory.pin(pinned)
        added = memory.add(said("Please forget that I am allergic to nuts."), user_id="ana")
        assert added.items[0].forgets == (pinned,)
        assert (memory[pinned].status, memory[added.id].status) == ("active", "archived")
        memory.unpin(pinned)
        words = "Please forget that I am allergic to nuts. I adopted a spaniel."
        added = memory.add(said(words), user_id="ana")
        assert memory[pinned].status == "archived"
        assert memory[added.id].status == "active"


@pytest.mark.parametrize(
    "text",
    [
        "I always forget names.",
        "Don't forget to buy milk.",
        "I forgot my keys at home.",
        "What did I forget to pack?",
    ],
)
def test_what_only_speaks_of_forgetting_asks_for_nothing(text: str) -> None:
    with Memory("ram://") as memory:
        memory.add(said("My keys and the milk are at home, with names and photos."))
        added = memory.add(said(text))
        assert (added.items[0].forgets, added.run) == (None, None)


def test_the_assistant_asks_for_nothing() -> None:
    with Memory("ram://") as memory:
        memory.add(said("I am allergic to nuts."))
        turn = {"role": "assistant", "content": "Please forget that I am allergic to nuts."}
        assert memory.add([turn]).items[0].forgets is None
