"""A vault of notes made by a script: folders, links of all kinds, templates, anchors, code."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

from support.imports import put

_THINGS = (
    "kiln wheel glaze clay bowl vase shelf oven bench ladle tongs sieve apron brush bucket kettle "
    "lantern ladder rope anvil"
).split()
_PLACES = "shed attic cellar garden workshop barn studio loft pantry porch".split()
_SAID = (
    "needs a new lid before winter",
    "was bought second hand from a school",
    "leaks when it rains from the west",
    "belongs to the neighbour, who lends it",
    "must be oiled twice a year",
    "makes a noise that wakes the cat",
)


@dataclass
class Vault:
    """A folder of notes, with their paths, and how many links they have."""

    folder: Path
    paths: list[str] = field(default_factory=list)
    links: int = 0
    unresolved: int = 0


def vault(folder: Path, size: int = 200, seed: int = 7) -> Vault:
    """Write a vault whose notes link to each other by name, by path, in Markdown and by day."""
    dice = random.Random(seed)
    names = [f"{thing} of the {place}".capitalize() for thing in _THINGS for place in _PLACES]
    made = Vault(folder)
    chosen = dice.sample(names, size)
    for number, name in enumerate(chosen):
        made.paths.append(f"{('', 'Projects/', 'Areas/Home/')[number % 3]}{name}.md")
    for number, path in enumerate(made.paths):
        other, third, fourth = (dice.choice(made.paths) for _ in range(3))
        up = "../" * path.count("/")
        lines = [
            f"The {Path(path).stem.lower()} {dice.choice(_SAID)}.",
            f"See [[{Path(other).stem}]] and [{Path(third).stem}](<{up}{third}#Notes>).",
            f"- [Notes](#notes) in #ffaa00 for ![[Picture {number}.png]] #workshop",
            f"```c\n#include <{Path(fourth).stem}>\n# [[not a link]]\n```",
            "## Notes\n\nNothing yet.",
        ]
        made.links += 2
        if number % 10 == 0:
            lines.append("Later: [[Not written yet]].")
            made.links += 1
            made.unresolved += 1
        if number % 5 == 0:
            lines.insert(0, f'---\nrelated: "[[{fourth.removesuffix(".md")}]]"\n---')
            made.links += 1
        if number % 4 == 0:
            lines.insert(1 if lines[0].startswith("---") else 0, f"# {Path(path).stem}\n")
        put(folder, path, "\n\n".join(lines) + "\n")
    put(folder, "Templates/Daily.md", "---\ncreated: {{date}}\n---\n\n## {{title}}\n")
    put(folder, ".obsidian/app.json", {})
    return made
