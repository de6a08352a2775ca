"""A server over a store in memory, and its address."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from salience.testing import WordHashEmbedder
from support.served import Served, serve_memory

OPERATIONS = {
    "test_a_link_to_nothing_is_pending_until_there_is_such_an_id",
    "test_a_neighbourhood_has_what_links_lead_to_and_says_what_it_left_out",
    "test_a_use_that_waits_is_no_event_before_it_is_written",
    "test_anything_else_does_not",
    "test_maintenance_prunes_and_consolidates_if_told_to",
    "test_names_of_other_namespaces_are_not_listed",
    "test_no_question_is_about_the_user",
    "test_questions_are_kept_changed_dropped_and_erased_with_the_namespace",
    "test_the_log_says_who_erased_how_much_when_and_how",
    "test_the_methods_take_it",
    "test_the_past_is_listed_and_read_as_it_was",
    "test_the_past_is_ranked_as_it_was",
    "test_the_past_of_one_has_its_links_and_bridges",
    "test_undoing_is_a_later_version",
    "test_what_comes_back_goes_on",
    "test_what_is_in_the_archive_has_no_zone",
    "test_what_is_never_archived_has_no_time_of_it",
    "test_what_was_said_in_two_chats_stays_two",
}
"""Tests of the suite that call each operation which it has; over HTTP the others are `deep`."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not isinstance(item, pytest.Function) or item.cls is None:
            continue
        if item.cls.__name__ == "TestServedRam" and item.originalname not in OPERATIONS:
            item.add_marker(pytest.mark.deep)


@pytest.fixture
def served() -> Iterator[Served]:
    with serve_memory("ram://", embedder=WordHashEmbedder()) as memory:
        yield memory
