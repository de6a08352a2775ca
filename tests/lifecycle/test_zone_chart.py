"""The picture of fading memories: its words never lie on each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, timezone
from itertools import combinations, pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from matplotlib.text import Text

from salience.lifecycle.zone_chart import chart, spread
from salience.lifecycle.zone_history import ZONE_ORDER, ZoneHistory, evenly_spaced
from support.examples import examples

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
HOUR_HOURS, DAY_HOURS, YEAR_HOURS = 1, 24, 8766


def history(
    counts: Sequence[Sequence[int]], protected: float, now: float, hours: float
) -> ZoneHistory:
    """A history over some hours, a row for each time, whose present is a share of the way."""
    span = timedelta(hours=hours)
    steps = max(1, len(counts) - 1)
    return ZoneHistory(
        tuple(START + span * at / steps for at in range(len(counts))),
        {name: tuple(row[at] for row in counts) for at, name in enumerate(ZONE_ORDER)},
        tuple(protected for _ in counts),
        tuple(7 for _ in counts),
        START + span * now,
    )


def words(figure: Any) -> list[tuple[str, Any]]:
    """Every text of a figure that is seen, with its box in pixels."""
    figure.draw_without_rendering()
    beyond = {label for axes in figure.axes for label in _labels_beyond(axes)}
    return [
        (text.get_text(), text.get_window_extent())
        for text in figure.findobj(Text)
        if text.get_text().strip() and text.get_visible() and text not in beyond
    ]


def _labels_beyond(axes: Any) -> Iterator[Any]:
    """The labels of the ticks that an axis has beyond its ends, which are not drawn."""
    for axis, ends in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        for tick in axis.get_major_ticks():
            yield tick.label2
            if not min(ends) <= tick.get_loc() <= max(ends):
                yield tick.label1


ROWS = st.lists(
    st.tuples(*[st.sampled_from([0, 0, 1, 2, 50, 100_000]) for _ in range(4)]),
    min_size=1,
    max_size=12,
)


@pytest.mark.deep
@settings(max_examples=examples(8))
@given(
    rows=ROWS,
    protected=st.sampled_from([0.0, 0.5, 0.99, 1.0]),
    now=st.sampled_from([-0.5, 0.02, 0.5, 0.98, 2.0]),
    hours=st.sampled_from([HOUR_HOURS, DAY_HOURS, 30 * DAY_HOURS, YEAR_HOURS, 9 * YEAR_HOURS]),
)
@example([(10, 1, 1, 200)] * 9, 0.99, 0.98, YEAR_HOURS)
@example([(50, 3, 3, 3)] * 9, 0.9, 0.02, YEAR_HOURS)
@example([(0, 0, 0, 0)], 0.0, 0.5, HOUR_HOURS)
def test_no_words_lie_on_others(
    rows: list[tuple[int, ...]], protected: float, now: float, hours: float
) -> None:
    figure = chart(history(rows, protected, now, hours), "How the memories of 'a team' fade " * 9)
    texts = words(figure)
    assert len(texts) > 20
    for (one, box), (other, its) in combinations(texts, 2):
        assert not box.overlaps(its), (one, other)
    width, height = figure.canvas.get_width_height()
    for one, box in texts:
        assert -1 <= box.x0 < box.x1 <= width + 1, one
        assert -1 <= box.y0 < box.y1 <= height + 1, one


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=8).map(sorted),
    st.lists(st.floats(0.01, 0.12), min_size=8, max_size=8),
)
def test_spread_places_have_their_rooms(places: list[float], rooms: list[float]) -> None:
    rooms = rooms[: len(places)]
    moved = spread(places, rooms)
    edges = [
        edge
        for at, room in zip(moved, rooms, strict=True)
        for edge in (at - room / 2, at + room / 2)
    ]
    assert all(one <= other + 1e-9 for one, other in pairwise(edges))
    assert edges[0] >= -1e-9
    assert edges[-1] <= 1 + 1e-9


def test_places_that_have_room_stay() -> None:
    assert spread([0.2, 0.5, 0.8], [0.1, 0.1, 0.1]) == pytest.approx([0.2, 0.5, 0.8])


@pytest.mark.parametrize("microseconds", [0, 1, 27, 79])
def test_times_close_together_ascend(microseconds: int) -> None:
    first = START
    last = first + timedelta(microseconds=microseconds)
    times = list(evenly_spaced(first, last, 53))
    assert times == sorted(times)
    assert (times[0], times[-1], len(times)) == (first, last, 53)


def test_times_of_all_centuries_are_evenly_spaced() -> None:
    first, last = (datetime(year, 1, 1, tzinfo=timezone.utc) for year in (1, 9999))
    times = list(evenly_spaced(first, last, 10_000))
    assert (times[0], times[-1]) == (first, last)
    assert times == sorted(set(times))
