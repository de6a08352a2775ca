"""The processor time of single adds, and of the steps of a search.

    python benchmarks/costs.py adds 1000 10000 100000
    python benchmarks/costs.py steps 10000 --profile balanced
    python benchmarks/costs.py methods 1000 10000 100000

All are of one thread, in milliseconds, with the memories of `salience bench` in a file. `adds`
adds turns, notes and facts one by one, with and without a look for duplicates, and times the search
after each. `steps` asks each question in several rounds and takes the least: the time of each batch
of operations, named by these, and of what the plan computes between them; the number of Python and
C calls; and the bytes of the index for each memory. `methods` calls what an agent calls in a turn:
a table by size, the first use of each in a process apart, and the exponent by which it grows.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from salience import Memory
from salience.evaluation.benchmark import Setup, bench, questions_about

_QUESTIONS = 60
_WARM = 20  # questions that nothing is measured of
_PROFILES = ("balanced", "composite", "six_factor", "vitality", "activation", "multi_route")
_ADDED = [("turn", None), ("note", None), ("fact", None), ("note", False), ("fact", False)]


def timed(call: Callable[[], Any]) -> float:
    """The milliseconds of processor time that a call takes in this thread."""
    began = time.thread_time()
    call()
    return (time.thread_time() - began) * 1e3


def adds(memory: Memory, questions: Sequence[str]) -> None:
    """Print the median of an add by kind, and of the search after it."""
    took: dict[str, list[float]] = {}
    for number, text in enumerate(questions):
        for kind, dedup in _ADDED:
            name = kind if dedup is None else f"{kind} (dedup=False)"
            content = f"{number} {name}: {text}"
            added = timed(partial(memory.add, content, kind=kind, dedup=dedup))
            took.setdefault(name, []).append(added)
            after = timed(partial(memory.search, text))
            took.setdefault("search after it", []).append(after)
    for name, each in took.items():
        print(f"{statistics.median(each):9.2f}  {name}")


def steps(memory: Memory, questions: Sequence[str], rounds: int, profile: str) -> None:
    """Print the mean over questions of the least of each step."""
    spent: dict[str, float] = {}
    answer = memory._core.dispatcher.batch

    def batch(ops: Sequence[Any]) -> list[Any]:
        answers: list[Any] = []
        name = " ".join(dict.fromkeys(type(op).__name__ for op in ops))
        spent[name] = spent.get(name, 0.0) + timed(lambda: answers.extend(answer(ops)))
        return answers

    memory._core.dispatcher.batch = batch  # type: ignore[method-assign]
    least: dict[str, list[float]] = {}
    for text in questions:
        of_question: dict[str, float] = {}
        for _ in range(rounds):
            spent.clear()
            whole = timed(partial(memory.search, text, profile=profile, touch=False))
            spent["the plan"] = whole - sum(spent.values())
            for name, each in [*spent.items(), ("all", whole)]:
                of_question[name] = min(each, of_question.get(name, each))
        for name, each in of_question.items():
            least.setdefault(name, []).append(each)
    means = {name: sum(each) / len(questions) for name, each in least.items()}
    for name, mean in sorted(means.items(), key=lambda item: -item[1]):
        print(f"{mean:9.3f}  {mean / means['all']:5.2f}  {name}")
    made = calls(memory, questions, profile)
    print(f"{made['call']:.0f} Python and {made['c_call']:.0f} C calls a search")
    figures = memory.stats(everywhere=True)
    print(f"{figures['index_mb'] * 1e6 / figures['memories']:.0f} bytes of the index a memory")


def calls(memory: Memory, questions: Sequence[str], profile: str) -> dict[str, float]:
    """The mean number of calls of Python and of C functions in a search."""
    made: Counter[str] = Counter()

    def counted(_: Any, event: str, __: Any) -> None:
        made[event] += 1

    for text in questions:
        sys.setprofile(counted)
        memory.search(text, profile=profile, touch=False)
        sys.setprofile(None)
    return {event: number / len(questions) for event, number in made.items()}


def methods(memory: Memory, questions: Sequence[str], rounds: int) -> dict[str, float]:
    """The milliseconds of the first call of each method, and the median of those behind it."""
    hit = memory.search(questions[0], touch=False).hits[3]
    earlier = (timedelta(hours=hours) for hours in count(1))
    named: dict[str, Callable[[str], object]] = {
        **{f"search, {profile}": partial(_search, memory, profile) for profile in _PROFILES},
        "search as_of a new time": lambda text: memory.search(
            text, as_of=hit.created_at - next(earlier), touch=False
        ),
        "get_context": memory.get_context,
        "explain": lambda text: memory.explain(text, hit.id),
        "get": lambda _: memory.get(hit.id),
        "get_all": lambda _: memory.get_all(limit=10),
        "about": lambda _: memory.about(limit=20),
        "history": lambda _: memory.history(hit.id),
        "links": lambda _: memory.links(hit.id),
        "tags": lambda _: memory.tags(),
        "entities": lambda _: memory.entities(),
        "inspect.zones": lambda _: memory.inspect.zones(),
        "add": lambda text: memory.add(f"Then: {text}"),
        "add, dedup=False": lambda text: memory.add(f"Now: {text}", dedup=False),
        "add, idempotency_key": lambda text: memory.add(f"Once: {text}", idempotency_key=text),
        "add, a fact": lambda text: memory.add(f"Later: {text}", kind="fact"),
        "update": lambda text: memory.update(hit.id, content=f"Changed: {text}"),
        "feedback": lambda _: memory.feedback(hit.id, "useful"),
        "touch": lambda _: memory.touch(hit.id),
    }
    took: dict[str, float] = {}
    for name, call in named.items():
        first, *again = [timed(partial(call, text)) for text in questions[: rounds + 1]]
        took[f"{name} (first)"], took[name] = first, statistics.median(again)
    return took


def _search(memory: Memory, profile: str, text: str) -> object:
    return memory.search(text, profile=profile, touch=False)


def table(took: Mapping[int, Mapping[str, float]]) -> None:
    """Print the milliseconds of each method by size, and the exponent from first to last size."""
    small, *_, large = (*took, *took)
    print("".join(f"{size:>12,}" for size in took), " exponent")
    for name in took[small]:
        figures = "".join(f"{each[name]:12.2f}" for each in took.values())
        grown = took[large][name] / took[small][name]
        exponent = math.log(grown) / math.log(large / small) if large > small else 0.0
        print(f"{figures}{exponent:10.2f}  {name}")


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=("adds", "steps", "methods"))
    parser.add_argument("sizes", nargs="+", type=int)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--profile", default="balanced")
    given = parser.parse_args()
    took: dict[int, dict[str, float]] = {}
    for size in given.sizes:
        with tempfile.TemporaryDirectory(prefix="salience-") as folder:
            path = Path(folder, "memory.db")
            bench(Setup(size, queries=1), keep=path)
            [(name, _), *asked] = questions_about(Setup(size, queries=_WARM + _QUESTIONS))
            texts = [text for _, text in asked]
            with Memory.open(f"sqlite:///{path}") as whole:
                memory = whole.for_namespace(name)
                for text in texts[:_WARM]:
                    memory.search(text, profile=given.profile)
                    memory.add(f"Before: {text}")
                print(f"{size:,} memories")
                if given.task == "adds":
                    adds(memory, texts[_WARM:])
                elif given.task == "methods":
                    took[size] = methods(memory, texts[_WARM:], given.rounds)
                else:
                    steps(memory, texts[_WARM:], given.rounds, given.profile)
    if took:
        table(took)


if __name__ == "__main__":
    main()
