"""Questions to a folder of Markdown notes, answered with the title, the path and the reason.

    python examples/notes.py notes "Where is the cellar key?" --db notes.db

Each run first brings the memories into step with the folder: new, changed, renamed and gone notes.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

from salience import Hit, Memory


def sync(folder: str, db: str) -> None:
    """Bring the memories into step; code 1 tells of a note that cannot be read, and is left out."""
    ran = subprocess.run(["salience", "import", "--sync", folder, "--db", db], check=False)
    if ran.returncode > 1:
        sys.exit(ran.returncode)


def why(hit: Hit) -> str:
    """The three parts that add most to the score."""
    parts = hit.explanation.contributions() if hit.explanation else {}
    best = sorted(parts, key=lambda name: -parts[name])[:3]
    return ", ".join(f"{name} {parts[name]:.2f}" for name in best if parts[name] > 0)


def main() -> None:
    """Sync, then search for each question."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("questions", nargs="+")
    parser.add_argument("--db", default="notes.db", help="a file, or the address of a server")
    options = parser.parse_args()
    sync(options.folder, options.db)
    with Memory(options.db) as memory:
        for question in options.questions:
            print(question)
            for hit in memory.search(question, limit=3, cut="auto", explain=True):
                print(f"  {hit.title} ({hit.metadata['path']}): {why(hit)}")
                text = hit.passages[0].text if hit.passages else hit.content
                print(f"    {' '.join(text.split())}")


if __name__ == "__main__":
    main()
