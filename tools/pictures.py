"""Draw the pictures of docs/inspector.md, by Chromium, over the memories of the demo.

python tools/pictures.py [NAME...]
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from salience import Memory  # noqa: E402
from salience.evaluation import sample  # noqa: E402
from support.browser import browser  # noqa: E402
from support.real_server import real_server  # noqa: E402

FOLDER = ROOT / "docs" / "inspector"
MAX_BYTES = 46_000
COLOURS = (64, 32, 24, 16)
QUESTION = "Which database holds our telemetry now?"
PICTURES: dict[str, tuple[dict[str, str], str, str, dict[str, Any]]] = {
    "search": ({}, ".card", "", {}),
    "why": ({}, ".card", ".why >> nth=0", {}),
    "search-dark": ({}, ".card", "", {"color_scheme": "dark"}),
    "search-narrow": ({}, ".card", "", {"viewport": {"width": 360, "height": 760}}),
    "trace": ({"view": "trace", "memory": "fact-retention"}, ".verdict", "", {}),
    "ab": ({"view": "ab", "weights": '{"semantic": 3}'}, ".moves", "", {}),
    "context": ({"view": "context", "tokens": "400"}, ".considered", "", {}),
    "time": (
        {
            "view": "time",
            "asOf": "2026-09-01",
            "filters": '{"kind": "fact"}',
        },
        ".then:has(.successor)",
        "",
        {},
    ),
    "health": (
        {"view": "health", "asOf": "2026-09-24"},
        ".feed td",
        "text=Count them over time then .chart",
        {"viewport": {"width": 1280, "height": 1000}},
    ),
    "around": (
        {"view": "around", "memory": "note-wedding-speech"},
        ".graph",
        "label:has-text('with entities') then .nodes td",
        {"viewport": {"width": 1280, "height": 1000}},
    ),
    "hops": (
        {"view": "around", "memory": "0319-storage-decision-3", "profile": "activation"},
        ".hops",
        "",
        {"viewport": {"width": 1280, "height": 1200}},
    ),
    "label": ({"view": "label"}, ".labels .row", ".labels button >> nth=0", {}),
    "what-if": (
        {"view": "whatif", "weights": '{"semantic": 3}'},
        "[data-source=server]",
        "",
        {"viewport": {"width": 1280, "height": 560}},
    ),
}
"""Of each picture: what the page shows, what it waits for, what is clicked, and the screen."""


def draw(names: Sequence[str]) -> None:
    """Write the pictures of some names, every one for none."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        path, clock = Path(folder) / "sample.db", sample.Clock()
        with Memory(path, clock=clock) as memory:
            sample.live(memory, clock)
        with real_server(path, cold=True) as server, browser() as chromium:
            for name in names or PICTURES:
                state, ready, clicked, screen = PICTURES[name]
                options = {"viewport": {"width": 1280, "height": 680}} | screen
                with chromium.new_context(**options) as context:
                    page = context.new_page()
                    page.goto(f"{server.url}/ui/#{urlencode({'q': QUESTION} | state)}")
                    page.wait_for_selector(ready)
                    for selector in filter(None, clicked.split(" then ")):
                        page.click(selector)
                    write(FOLDER / f"{name}.png", page.screenshot())


def write(path: Path, screen: bytes) -> None:
    """Write a picture in as many colours as its size allows, and refuse one that is too large."""
    image = Image.open(BytesIO(screen)).convert("RGB")
    for colours in COLOURS:
        few = image.quantize(colours, Image.Quantize.MAXCOVERAGE)
        levels = image.tobytes()
        seen = Counter(zip(few.tobytes(), levels[::3], levels[1::3], levels[2::3], strict=True))
        often = {place: shown for (place, *shown), _ in reversed(seen.most_common())}
        few.putpalette([level for place in range(colours) for level in often.get(place, (0, 0, 0))])
        few.save(path, optimize=True)
        if path.stat().st_size <= MAX_BYTES:
            return
    raise SystemExit(f"{path.name} has {path.stat().st_size} bytes, more than {MAX_BYTES}")


if __name__ == "__main__":
    draw(sys.argv[1:])
