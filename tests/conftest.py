"""Settings that hold for every test, and a report of the processor time that each case took.

`deep` marks what `make test` leaves to `make deep`, which has the profile of that name.
"""

import os
import time
from collections import Counter
from collections.abc import Generator

import pytest
from hypothesis import settings

_SLOWEST = 25  # cases that are named after a run

# How long an example takes says how busy the machine is, not whether the law holds.
settings.register_profile("short", deadline=None, max_examples=10)
settings.register_profile("deep", deadline=None, max_examples=60)
settings.load_profile("short")

# What ranx compiles takes longer to compile than to interpret.
os.environ["NUMBA_DISABLE_JIT"] = "1"

# Reading the certificates takes a client of HTTP 20 ms, and no test leaves this machine.
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = os.path.dirname(__file__)

# A day is the same one on every machine.
os.environ["TZ"] = "UTC"
os.environ.pop("SALIENCE_TIME_ZONE", None)
if hasattr(time, "tzset"):
    time.tzset()

_phase_began = pytest.StashKey[float]()
_processor_seconds: Counter[str] = Counter()
_clock_seconds: Counter[str] = Counter()
_cases: Counter[str] = Counter()
_seconds_of_case: Counter[str] = Counter()


def _processor_time() -> float:
    """The seconds that this process and its ended children have computed."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to `make deep` all but one in so many cases of a test, where it says so.

    And the layers of a profile, which differ from it in numbers alone.
    """
    seen: Counter[str] = Counter()
    for item in items:
        test = item.nodeid.partition("[")[0]
        one_in = item.get_closest_marker("one_in")
        if one_in is not None and seen[test] % one_in.args[0]:
            item.add_marker("deep")
        seen[test] += 1
        case = getattr(item, "callspec", None)
        if case is not None and "." in str(case.params.get("profile", "")):
            item.add_marker("deep")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    item.stash[_phase_began] = _processor_time()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    now = _processor_time()
    report.processor_seconds = now - item.stash[_phase_began]
    item.stash[_phase_began] = now
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    folder = "/".join(report.nodeid.split("/")[:2])
    _processor_seconds[folder] += getattr(report, "processor_seconds", 0.0)
    _clock_seconds[folder] += report.duration
    _cases[folder] += report.when == "call"
    _seconds_of_case[report.nodeid] += getattr(report, "processor_seconds", 0.0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.section("the slowest cases, in seconds of processor")
    for case, seconds in _seconds_of_case.most_common(_SLOWEST):
        terminalreporter.write_line(f"{seconds:8.1f}  {case}")
    terminalreporter.section("cases, seconds of processor and clock")
    for folder, seconds in _processor_seconds.most_common():
        terminalreporter.write_line(
            f"{_cases[folder]:6} {seconds:8.1f} {_clock_seconds[folder]:8.1f}  {folder}"
        )
    totals = (table.total() for table in (_cases, _processor_seconds, _clock_seconds))
    terminalreporter.write_line("{:6} {:8.1f} {:8.1f}  all".format(*totals))
