"""Times that questions in many languages ask about."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience.language.dates import asked_times
from salience.language.dates.grammar import (
    HALF_YEAR,
    MONTH_NAME,
    RELATIVE_TIME,
    YEAR_AND_HALF,
    may_name_time,
)
from salience.language.dates.translation import MONTH_NAMES, VOCABULARIES, WEEKDAY_NAMES
from salience.language.languages import language_of
from salience.language.tokens import fold, question_words, without_bigrams

NOW = datetime(2026, 3, 20, 0, 30, tzinfo=timezone.utc)  # a Friday
TIMES = (RELATIVE_TIME, MONTH_NAME, HALF_YEAR, YEAR_AND_HALF)
"""What every time without a figure begins with."""
DAY, WEEK, RANGE = ("2026-03-18", 1), ("2026-03-09", 7), ("2026-03-05", 3)
AGO, TUESDAY, EARLY = ("2026-03-17", 1), ("2026-03-10", 1), ("2026-03-01", 10)


def days_asked(text: str, now: datetime = NOW) -> tuple[str, int] | None:
    """The first day of the time that a question asks about, and the number of its days."""
    language = language_of(without_bigrams(question_words(text)))
    times = asked_times(fold(text), now, language.code if language else "").times
    if not times:
        return None
    start, end, _ = times[0].readings[0]
    return datetime.fromtimestamp(start, timezone.utc).date().isoformat(), int(
        (end - start) / 86400
    )


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (DAY, "What did I do on March 18?"),
        (DAY, "the wrap of 2026-03-18T09:00:00Z"),
        (DAY, "wrap 18/03/2026"),
        (DAY, "wrap 03/18/2026"),
        (DAY, "wrap on the 18th"),
        (DAY, "What happened on the 18th in Rome?"),
        (DAY, "What did I do last Wednesday?"),
        (AGO, "What did I do last Tuesday?"),
        (TUESDAY, "What did I do on Tuesday of last week?"),
        (RANGE, "What was between March 5 and 7?"),
        (RANGE, "What was between the 5th and the 7th of March?"),
        (EARLY, "What was at the beginning of the month?"),
        (("2026-03-02", 7), "What was a fortnight ago?"),
        (("2026-03-14", 2), "Where was I last weekend?"),
        (("2026-02-11", 10), "What did we say in mid-February?"),
        (("2026-03-16", 4), "What was said since Monday?"),
        (("2026-02-28", 8), "Who came the week before March 7?"),
        (("2026-03-06", 1), "Who came on the Friday before March 10?"),
        (("2026-02-14", 1), "Where did we eat on Valentine's Day?"),
        (("2025-12-24", 3), "Who came last Christmas?"),
        (("2024-12-24", 1), "Who came on Christmas Eve 2024?"),
        (("2025-04-18", 4), "Where were we over Easter 2025?"),
        (("2025-11-27", 1), "Who cooked on Thanksgiving?"),
        (("2025-12-31", 1), "Where was I on New Year's Eve?"),
        (("2025-07-01", 92), "What happened in Q3?"),
        (("2024-01-01", 91), "What happened in the first quarter of 2024?"),
        (("2025-10-01", 92), "What did we sell last quarter?"),
        (("2025-07-01", 31), "What happened in 2025-07?"),
        (("2025-05-01", 31), "What happened in 5/2025?"),
        (("2026-03-18", 1), "What happened on 18/3?"),
        (("2025-09-01", 30), "What did I do half a year ago?"),
        (("2024-09-01", 30), "What did I do a year and a half ago?"),
        # German
        (("2025-12-24", 3), "Was haben wir an Weihnachten gemacht?"),
        (("2025-12-31", 1), "Wo war ich Silvester?"),
        (DAY, "Was habe ich am 18.3. gemacht?"),
        (("2025-09-01", 30), "Was habe ich vor einem halben Jahr gemacht?"),
        (DAY, "Wem wurde er am 18. März geschickt?"),
        (DAY, "Was habe ich vorgestern gemacht?"),
        (DAY, "Was habe ich am 18. gemacht?"),
        (AGO, "Was habe ich vor drei Tagen gemacht?"),
        (AGO, "Was haben wir letzten Dienstag besprochen?"),
        (WEEK, "Was haben wir letzte Woche besprochen?"),
        (RANGE, "Was war zwischen dem 5. und dem 7. März?"),
        (EARLY, "Was war Anfang März?"),
        # Dutch
        (DAY, "Wat heb ik op 18 maart gedaan?"),
        (AGO, "Wat heb ik drie dagen geleden gedaan?"),
        (RANGE, "Wat gebeurde er tussen 5 en 7 maart?"),
        # French
        (DAY, "Qu'est-ce que j'ai fait le 18 mars ?"),
        (DAY, "Qu'est-ce que j'ai fait le 18/03/2026 ?"),
        (AGO, "Qu'ai-je fait il y a trois jours ?"),
        (AGO, "Qu'ai-je fait mardi dernier ?"),
        (WEEK, "Qu'ai-je fait la semaine dernière ?"),
        (RANGE, "Qu'ai-je fait entre le 5 et le 7 mars ?"),
        (("2026-02-11", 10), "Que s'est-il passé à la mi-février ?"),
        # Italian
        (DAY, "Cosa ho fatto il 18 marzo?"),
        (AGO, "Cosa ho fatto tre giorni fa?"),
        (WEEK, "Cosa ho fatto la settimana scorsa?"),
        (RANGE, "Cosa ho fatto tra il 5 e il 7 marzo?"),
        # Spanish
        (DAY, "¿Qué hice el 18 de marzo?"),
        (DAY, "¿Qué hice anteayer?"),
        (AGO, "¿Qué hice hace tres días?"),
        (TUESDAY, "¿Qué hice el martes de la semana pasada?"),
        (RANGE, "¿Qué hice entre el 5 y el 7 de marzo de 2026?"),
        # Portuguese
        (DAY, "O que eu fiz no dia 18 de março?"),
        (AGO, "O que eu fiz há três dias?"),
        (AGO, "O que eu fiz na terça-feira passada?"),
        # Russian
        (DAY, "Что я делал 18 марта?"),
        (AGO, "Что я делал три дня назад?"),
        (WEEK, "Что я делал на прошлой неделе?"),
        (RANGE, "Что было с 5 по 7 марта?"),
        (EARLY, "Что было в начале марта?"),
        # Chinese, Japanese and Korean
        (DAY, "我三月十八日做了什么？"),
        (AGO, "三天前我做了什么？"),
        (WEEK, "上周我做了什么？"),
        (RANGE, "3月5日到3月7日我做了什么？"),
        (DAY, "3月18日に何をしましたか？"),
        (AGO, "三日前に何をしましたか？"),
        (TUESDAY, "先週の火曜日に何をしましたか？"),
        (RANGE, "3月5日から3月7日まで何をしましたか？"),
        (DAY, "3월 18일에 뭐 했어?"),
        (AGO, "사흘 전에 뭐 했어?"),
        (TUESDAY, "지난주 화요일에 뭐 했어?"),
        (RANGE, "3월 5일부터 3월 7일까지 뭐 했어?"),
    ],
)
def test_the_time_that_a_question_asks_about(time: tuple[str, int], text: str) -> None:
    assert days_asked(text) == time


@pytest.mark.parametrize(
    "text",
    [
        "How often do I go on Tuesdays?",
        "The third step on the 3rd floor",
        "He came on the 18th century ship",
        "What is 2 weeks of rent?",
        "What does Ana want for Christmas?",
        "Who won the first quarter of the game?",
        "Who came to the Halloween party?",
        "Where is Easter Island?",
        "Is it 1/2 or 3/4 cup?",
        "Where does April live?",
        "Was it 5 days before the exam?",
        "Was kostet die Wohnung im Monat?",
        "Quel jour du mois ?",
        "¿Quién es Abril?",
    ],
)
def test_no_time_is_asked_about(text: str) -> None:
    assert days_asked(text) is None


def test_both_readings_of_figures_count_and_a_day_of_any_year() -> None:
    day, month = (reading[0] for reading in asked_times("on 03/04/2026", NOW).times[0].readings)
    assert datetime.fromtimestamp(day, timezone.utc).date().isoformat() == "2026-04-03"
    assert datetime.fromtimestamp(month, timezone.utc).date().isoformat() == "2026-03-04"
    weights = [weight for _, _, weight in asked_times("on march 4", NOW).times[0].readings]
    assert weights[0] == 1.0
    assert set(weights[1:]) == {0.5}


def test_days_are_those_of_the_time_zone() -> None:
    tokyo = timezone(timedelta(hours=9))
    start, end, _ = asked_times("yesterday", NOW.astimezone(tokyo)).times[0].readings[0]
    assert datetime.fromtimestamp(start, tokyo) == datetime(2026, 3, 19, tzinfo=tokyo)
    assert end - start == 86400


@pytest.mark.parametrize("code", VOCABULARIES)
def test_each_language_has_all_months_days_and_numbers(code: str) -> None:
    vocabulary = VOCABULARIES[code]
    assert len(vocabulary.weekdays.split()) == len(WEEKDAY_NAMES)
    assert len(vocabulary.numbers.split()) == 12
    assert len(vocabulary.months.split()) in (0, len(MONTH_NAMES))


@given(st.text(max_size=60), st.sampled_from(["", *VOCABULARIES]), st.datetimes())
def test_any_text_is_read(text: str, language: str, now: datetime) -> None:
    times = asked_times(fold(text), now.replace(tzinfo=timezone.utc), language).times
    assert all(start < end for time in times for start, end, _ in time.readings)


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (("2026-03-23", 1), "What's on Monday?"),
        (("2026-03-23", 1), "Have I got anything on Monday?"),
        (("2026-03-16", 1), "What happened on Monday?"),
        (("2026-03-16", 1), "What have you heard on Monday?"),
        (("2026-03-20", 1), "What is planned for Friday?"),
        (("2026-03-30", 1), "Is anything due on the 30th?"),
        (("2026-02-28", 1), "What did Ana say on the 28th?"),
        (("2026-05-01", 31), "What are the plans for May?"),
        (("2026-03-21", 2), "What's planned for the weekend?"),
        (("2026-03-14", 2), "What did I do at the weekend?"),
        (("2025-06-01", 92), "Where did we go last summer?"),
        (("2026-06-01", 92), "Are there plans for this summer?"),
        (("2025-12-01", 90), "What happened this winter?"),
        (("2025-09-01", 91), "What did I do in autumn?"),
        (("2027-03-01", 92), "What will we do next spring?"),
        (("2026-03-01", 31), "Is anything due in March?"),
    ],
)
def test_a_question_for_what_is_to_come_means_the_next_such_time(
    time: tuple[str, int], text: str
) -> None:
    assert days_asked(text) == time


def test_spring_is_no_season_before_a_framework() -> None:
    assert days_asked("How do I log in Spring Boot?") is None


def test_the_last_winter_is_over_also_in_winter() -> None:
    january = datetime(2026, 1, 10, tzinfo=timezone.utc)
    assert days_asked("What happened last winter?", january) == ("2024-12-01", 90)
    assert days_asked("What happened this winter?", january) == ("2025-12-01", 90)


@given(st.sampled_from(TIMES).flatmap(lambda time: st.from_regex(time.pattern)))
def test_a_text_that_names_a_time_has_a_sign_of_one(text: str) -> None:
    folded = fold(text)
    if any(time.search(folded) for time in TIMES):
        assert may_name_time(folded)
