"""Train a reranker on labelled conversations: a small cross-encoder for `cross-encoder:FOLDER`.

It learns from the texts that it will be given, the best of a search of each question: to give those
that answer more than those that do not. What it is worth is to be measured on other questions.

    python benchmarks/train_reranker.py mine/train --base BASE --out my-reranker
    salience eval mine/test --rerank cross-encoder:my-reranker

BASE is a small encoder, by its name or folder, such as sentence-transformers/all-MiniLM-L6-v2. It
needs `pip install "salience[sentence-transformers]"`.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from salience import Memory
from salience.evaluation.datasets import load
from salience.rerankers import register_reranker, reranked

READ = 100  # candidates of a search, among which answers are looked for
NEGATIVES_AMONG = 30  # the best that do not answer


@dataclass(frozen=True)
class Example:
    """A question, with texts that answer it and the best candidates that do not."""

    query: str
    positives: list[str]
    negatives: list[str]


def examples(folder: str) -> list[Example]:
    """The questions of a folder of conversations of which a search finds an answer."""
    texts: list[str] = []

    def read(query: str, given: Sequence[str]) -> list[float]:
        texts[:] = given
        return [float(place) for place in range(len(given))]

    register_reranker("training.read", read)
    profile = reranked("balanced", "training.read", top=READ, share=0.0, timeout=60.0)
    found = []
    for conversation in load(folder):
        with Memory.open("ram://") as memory:
            memory.add_many(conversation.memories)
            for query in conversation.queries:
                result = memory.search(
                    query.text, limit=READ, profile=profile, now=conversation.now, touch=False
                )
                of_hit = {hit.id: texts[int(hit.details["rerank.score"])] for hit in result.hits}
                answers = [of_hit[id] for id in query.relevant if id in of_hit]
                others = [text for id, text in of_hit.items() if id not in query.relevant]
                if answers and others:
                    found.append(Example(query.text, answers, others[:NEGATIVES_AMONG]))
    return found


def train(learned: list[Example], options: argparse.Namespace) -> tuple[Any, Any]:
    """A model and its tokenizer: loss = -log softmax of the answer among `--texts` texts."""
    torch.manual_seed(options.seed)
    chosen = random.Random(options.seed)
    tokenizer = AutoTokenizer.from_pretrained(options.base)
    model = AutoModelForSequenceClassification.from_pretrained(options.base, num_labels=1)
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.rate, weight_decay=0.01)
    steps = options.epochs * (len(learned) // options.batch)
    warm = max(1, steps // 10)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: min((step + 1) / warm, max(0.0, (steps - step) / (steps - warm + 1))),
    )
    started, losses = time.perf_counter(), []
    for step in range(steps):
        if step * options.batch % len(learned) < options.batch:
            chosen.shuffle(learned)
        at = step * options.batch % (len(learned) - options.batch + 1)
        queries, texts, sizes = [], [], []
        for example in learned[at : at + options.batch]:
            wrong = chosen.sample(example.negatives, min(options.texts - 1, len(example.negatives)))
            own = [chosen.choice(example.positives), *wrong]
            queries += [example.query] * len(own)
            texts += own
            sizes.append(len(own))
        pairs = tokenizer(
            queries,
            texts,
            padding=True,
            truncation="only_second",
            max_length=options.length,
            return_tensors="pt",
        )
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(**pairs).logits[:, 0]
        given = logits.float().split(sizes)
        loss = -torch.stack([row.log_softmax(0)[0] for row in given]).mean()
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call, unused-ignore]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        if (step + 1) % 20 == 0 or step + 1 == steps:
            seconds = time.perf_counter() - started
            mean = sum(losses[-20:]) / len(losses[-20:])
            print(f"step {step + 1} of {steps}, loss {mean:.3f}, {seconds:.0f} s", flush=True)
    return model, tokenizer


def main() -> None:
    """Read the options, train and write the folder."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="+", help="folders of conversations, as `eval` takes them")
    parser.add_argument("--base", required=True, help="the encoder to begin with: a name or folder")
    parser.add_argument("--out", required=True, help="the folder of the reranker")
    parser.add_argument("--epochs", type=int, default=3, help="times that each question is read")
    parser.add_argument("--batch", type=int, default=8, help="questions of a step")
    parser.add_argument("--texts", type=int, default=8, help="texts of a question, one answers")
    parser.add_argument("--length", type=int, default=128, help="tokens of a question and a text")
    parser.add_argument("--rate", type=float, default=1e-4, help="the learning rate")
    parser.add_argument("--threads", type=int, default=1, help="processors to compute on")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    learned = [example for folder in options.folders for example in examples(folder)]
    print(f"{len(learned)} questions", flush=True)
    model, tokenizer = train(learned, options)
    model.save_pretrained(options.out)
    tokenizer.model_max_length = options.length
    tokenizer.save_pretrained(options.out)


if __name__ == "__main__":
    main()
