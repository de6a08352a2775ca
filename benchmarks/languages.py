"""Recall in other languages, on reading sets of the form of SQuAD, beside words and meaning alone.

    python languages.py convert xquad.de.json sets/xquad-de
    python languages.py compare sets/*

`convert` makes each sentence of a set a memory (with `--paragraphs` each paragraph), and each
question one whose answer is the sentence that holds it. `compare` measures `balanced`, BM25 alone
and the cosine alone. Sets and where they come from: README.md.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from salience.evaluation.runner import evaluate
from salience.ranking.expressions import Col
from salience.ranking.profile import Profile
from salience.ranking.stages import cut, retrieve, score
from salience.retrieval.routes import Lexical, Vector

# The end of a sentence: a full stop before a blank, or one of a script that writes no blanks.
SENTENCE_END = re.compile(r"(?<=[.!?؟।])[\"'”’»)\]]*\s+|(?<=[。！？])[」』”）]*\s*|\n+")
MIN_CHARS = 15  # a shorter sentence, such as an initial, belongs to the one before
TITLE_END = " [SEP] "  # JSQuAD puts titles before its paragraphs
PROFILES = (
    Profile("words", retrieve(Lexical()) >> score(Col("lexical.score")) >> cut()),
    Profile("meaning", retrieve(Vector()) >> score(Col("vector.score")) >> cut()),
    "balanced",
)


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """The sentences of a text with the places where they begin."""
    start = 0
    for end in (*(match.end() for match in SENTENCE_END.finditer(text)), len(text)):
        if len(text[start:end].strip()) >= MIN_CHARS or end == len(text):
            if text[start:end].strip():
                yield start, text[start:end].strip()
            start = end


def conversation(source: Path, whole: bool, questions: int, seed: int) -> dict[str, Any]:
    """The sentences or paragraphs of a set as memories, and as many of its questions."""
    opened = gzip.open if source.suffix == ".gz" else open
    with opened(source, "rt", encoding="utf-8") as file:
        articles = json.load(file)["data"]
    memories: list[dict[str, Any]] = []
    queries: list[dict[str, Any]] = []
    for paragraph in (paragraph for article in articles for paragraph in article["paragraphs"]):
        text = paragraph["context"]
        body = text.find(TITLE_END) + len(TITLE_END) if TITLE_END in text else 0
        units = [(0, text[body:])] if whole else list(sentences(text[body:]))
        starts = [body + start for start, _ in units]
        first = len(memories)
        memories += [{"id": f"m{first + i}", "text": unit} for i, (_, unit) in enumerate(units)]
        for asked in paragraph["qas"]:
            if asked["answers"]:
                place = asked["answers"][0]["answer_start"]
                holder = first + max(bisect_right(starts, place) - 1, 0)
                queries.append({"text": asked["question"], "relevant": [f"m{holder}"]})
    chosen = random.Random(seed).sample(queries, min(questions, len(queries)))
    return {"memories": memories, "queries": chosen}


def convert(arguments: argparse.Namespace) -> None:
    """Write the conversation of a set into a folder."""
    made = conversation(arguments.source, arguments.paragraphs, arguments.questions, arguments.seed)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    path = arguments.folder / f"{arguments.folder.name}.json"
    path.write_text(json.dumps(made, ensure_ascii=False, indent=1), encoding="utf-8")
    print(f"{path}: {len(made['memories']):,} memories, {len(made['queries']):,} questions")


def compare(arguments: argparse.Namespace) -> None:
    """Print Recall@10 and MRR of each profile as a table of Markdown."""
    names = [profile if isinstance(profile, str) else profile.name for profile in PROFILES]
    columns = [f"{measure} {name}" for measure in ("R@10", "MRR") for name in names]
    print("| set | questions | " + " | ".join(columns) + " |")
    print("|---|" + "---:|" * (1 + len(columns)))
    for folder in arguments.folders:
        outcomes = evaluate([folder], profiles=PROFILES, embedders=[arguments.embedder]).outcomes
        values = [o.metrics[measure] for measure in ("R@10", "MRR") for o in outcomes]
        cells = (f"{value:.3f}".lstrip("0") for value in values)
        print(f"| {folder.name} | {outcomes[0].queries} | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    """Convert a set, or compare the profiles."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    made = commands.add_parser("convert", help="make a set of conversations of a reading set")
    made.add_argument("source", type=Path, help="a file of the form of SQuAD, may be .gz")
    made.add_argument("folder", type=Path)
    made.add_argument("--paragraphs", action="store_true", help="a memory for each paragraph")
    made.add_argument("--questions", type=int, default=400, help="how many, chosen at random")
    made.add_argument("--seed", type=int, default=0)
    made.set_defaults(run=convert)
    compared = commands.add_parser("compare", help="measure")
    compared.add_argument("folders", type=Path, nargs="+")
    compared.add_argument("--embedder", default="default")
    compared.set_defaults(run=compare)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
