"""The time that the inspector's page takes, beside that of a plain search in the same run.

    python benchmarks/page.py --memories 100000
    python benchmarks/page.py --db memory.db --memories 66000

Starts a server over a store, of synthetic conversations unless one is given, and drives Chromium
by Playwright. Prints medians in milliseconds: a search and the columns of its candidates as a
client sees both, from the answer to painted cards, from the start of a visit to painted cards, and
from a slider moved to the painted order (also p95).
"""

from __future__ import annotations

import argparse
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
from playwright.sync_api import Page, sync_playwright

from salience import Memory
from salience.evaluation.benchmark import Setup, chunks, questions_about

_ROUNDS = 20
_MOVES = 60  # of sliders
_BATCH = 16_384
_STARTED_SECONDS = 300.0

# Notes when an answer of candidates has been read, and when cards are first painted after it.
_WATCH = """
const asked = window.fetch;
window.fetch = async (url, options) => {
  const answer = await asked(url, options);
  const json = answer.json.bind(answer);
  answer.json = async () => {
    const value = await json();
    if (url.endsWith("/candidates")) window.read = performance.now();
    return value;
  };
  return answer;
};
const after = (done) => requestAnimationFrame(() => setTimeout(() => done(performance.now())));
const painted = () => new Promise(after);
const anything = { childList: true, subtree: true, characterData: true, attributes: true };
new MutationObserver(async () => {
  if (window.read && !window.shown && document.querySelector(".card")) {
    window.shown = true;
    window.painted = await painted();
    document.documentElement.dataset.painted = "";
  }
}).observe(document, { childList: true, subtree: true });
window.moved = async (slider, value) => {
  const began = performance.now();
  const order = document.querySelector("main");
  const changed = new Promise((done) => new MutationObserver(done).observe(order, anything));
  slider.value = value;
  slider.dispatchEvent(new Event("input", { bubbles: true }));
  await changed;
  return (await painted()) - began;
};
"""


@contextmanager
def served(path: Path) -> Iterator[str]:
    """The address of a server over a file that only reads, while it runs."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "salience", "inspect", "--db", str(path), "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        until = time.monotonic() + _STARTED_SECONDS
        while time.monotonic() < until:
            with suppress(httpx.HTTPError):
                if httpx.get(f"{url}/ready").status_code == 200:
                    break
            time.sleep(0.2)
        yield url
    finally:
        process.terminate()
        process.wait()


def timed(call: Callable[[], Any]) -> float:
    """The milliseconds that a call takes."""
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1e3


def requests(url: str, namespace: str, questions: list[str]) -> tuple[float, float]:
    """The medians of a search and of its candidates, asked in turns."""
    took: dict[str, list[float]] = {"search": [], "candidates": []}
    with httpx.Client(headers={"Salience-Namespace": namespace}) as client:
        for question in [questions[0], *questions]:
            for path, each in took.items():
                body = {"query": question} | ({"touch": False} if path == "search" else {})
                each.append(timed(partial(client.post, f"{url}/v1/{path}", json=body)))
    return statistics.median(took["search"][1:]), statistics.median(took["candidates"][1:])


def visits(page: Page, address: Callable[[str], str], questions: list[str]) -> tuple[float, float]:
    """The medians from an answer, and from the start of a visit, to painted cards."""
    drawn, whole = [], []
    for question in [questions[0], *questions]:
        page.goto("about:blank")
        page.goto(address(question))
        page.wait_for_selector("html[data-painted]", timeout=_STARTED_SECONDS * 1e3)
        read, end = page.evaluate("[window.read, window.painted]")
        drawn.append(end - read)
        whole.append(end)
    return statistics.median(drawn[1:]), statistics.median(whole[1:])


def slides(page: Page, address: str) -> list[float]:
    """The milliseconds of each move of a slider, to the painted order."""
    page.goto("about:blank")
    page.goto(f"{address}&view=whatif")
    page.wait_for_selector(".order li")
    sliders = page.locator(".slider input:visible")
    count = sliders.count()
    return [
        sliders.nth(move % count).evaluate(
            "(slider, value) => moved(slider, value)", 0.3 + move / 50
        )
        for move in range(_MOVES)
    ]


def main() -> None:
    """Print each figure with its bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--db", type=Path)
    parser.add_argument("--namespace", default="default")
    parser.add_argument("--browser", default="/usr/bin/chromium")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path, setup = given.db, Setup(given.memories, queries=_ROUNDS)
        if path is None:
            path = Path(folder) / "memory.db"
            with Memory.open(f"sqlite:///{path}", namespace=given.namespace) as memory:
                for _, items in chunks(setup, _BATCH):
                    memory.add_many(items, dedup=False)
        questions = [text for _, text in questions_about(setup)][:_ROUNDS]
        named = quote(given.namespace)
        with served(path) as url, sync_playwright() as playwright:
            search, candidates = requests(url, given.namespace, questions)
            browser = playwright.chromium.launch(
                executable_path=given.browser, args=["--no-sandbox"]
            )
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.add_init_script(_WATCH)

            def address(question: str) -> str:
                return f"{url}/ui/#q={quote(question)}&namespace={named}"

            drawn, whole = visits(page, address, questions)
            moves = slides(page, address(questions[0]))
            browser.close()
    p95 = statistics.quantiles(moves, n=20)[18]
    ratio = candidates / search
    rows = [
        ("search", search, ""),
        ("candidates", candidates, f"{ratio:.1f} times a search; at most 3"),
        ("answer to painted cards", drawn, "at most 100"),
        ("visit to painted cards", whole, "below 1,000"),
        ("slider to painted order", statistics.median(moves), f"p95 {p95:.1f}; at most 50"),
    ]
    for name, ms, note in rows:
        print(f"{name:26}{ms:8.1f} ms  {note}")


if __name__ == "__main__":
    main()
