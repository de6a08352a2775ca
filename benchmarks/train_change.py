"""Fit the model of change to `corpus/changes.tsv` and the everyday stores, or measure it.

python train_change.py          writes the weights into the package
python train_change.py --folds  measures: pairs by a model of other domains, the stores of `test`
python train_change.py --search the same through searches, before it writes the weights

Three kinds of pairs are read: the labelled ones, of which those of hand C are contrasts (a later
statement with an earlier one that it replaces, and near ones that it does not); a later statement
with earlier ones of others, which it is near to by chance; and each memory of the stores, of those
that a write reads, with the nearest ones before it. Scores become probabilities by the stores.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from salience import Memory, SearchResult
from salience.embedders.static import DIMENSIONS
from salience.language import change, linear
from salience.write import changes

CORPUS = Path(__file__).parent / "corpus"
GRAMS = {"characters": 1.0, "words": 1.3, "places": 1.0, "before": 0.0}
OF_GRAMS, OF_PAIRS, OF_NEAR = 0.5, 1.0, 10.0  # penalties of the squares of the weights
STORE_CHANGE, STORE_OTHER = 1.5, 0.15  # weights, where a labelled pair has 1
NEAR_MISMATCH, NEAR_CHANGE, NEAR_STORE = 0.3, 0.5, 0.2
CANDIDATES, FOLDS, STEPS = 6, 4, 80


class Pair(NamedTuple):
    """Two statements. `later` numbers the later one."""

    older: str
    newer: str
    changes: bool
    fold: int
    later: int
    kind: str  # labelled, mismatch, store, test
    lang: str = ""
    hand: str = ""


def labelled() -> list[Pair]:
    """The labelled pairs, in folds of whole domains."""
    lines = (line.split("\t") for line in (CORPUS / "changes.tsv").read_text("utf-8").splitlines())
    rows = [*lines]
    domains = sorted({row[2] for row in rows})
    order = np.random.RandomState(0).permutation(len(domains))
    fold = {domains[place]: at % FOLDS for at, place in enumerate(order)}
    return [
        Pair(row[3], row[4], row[1] != "both", fold[row[2]], at, "labelled", row[0], row[7])
        for at, row in enumerate(rows)
    ]


def mismatched(pairs: Sequence[Pair]) -> Iterator[Pair]:
    """Each later statement with earlier ones of other domains in its language."""
    rng = np.random.RandomState(1)
    for lang in sorted({pair.lang for pair in pairs}):
        own = [pair for pair in pairs if pair.lang == lang]
        older = linear.rows([pair.older for pair in own])
        last = {pair.newer: place for place, pair in enumerate(own)}
        for place, cosines in enumerate(linear.rows([pair.newer for pair in own]) @ older.T):
            pair = own[place]
            if last[pair.newer] != place:
                continue
            near = [
                at
                for at in np.argsort(-cosines, kind="stable").tolist()
                if own[at].older != pair.older and own[at].fold != pair.fold
            ]
            for at in (near[0], rng.choice(near[1:30])):
                yield pair._replace(older=own[at].older, changes=False, kind="mismatch")


def of_stores(part: str, kind: str, first: int) -> Iterator[Pair]:
    """Each memory of the stores of a part that a write reads, with the nearest before it."""
    for number, line in enumerate((CORPUS / f"{part}.jsonl").read_text("utf-8").splitlines()):
        store = json.loads(line)
        told = sorted(
            (m for m in store["memories"] if m.get("speaker") in (None, "user")),
            key=lambda memory: memory["created_at"],
        )
        place = {memory["id"]: at for at, memory in enumerate(told)}
        changed = {
            (min(place[a], place[b]), max(place[a], place[b]))
            for query in store["queries"]
            for a in query.get("outdated", ())
            for b in query["relevant"]
            if a in place and b in place
        }
        rows = linear.rows([memory["text"] for memory in told])
        is_short = [len(memory["text"]) <= changes.MAX_CHARACTERS for memory in told]
        asks = [memory["text"].rstrip().endswith(("?", "？")) for memory in told]
        for later in range(1, len(told)):
            if not is_short[later] or asks[later]:
                continue
            near = np.argsort(-(rows[:later] @ rows[later]), kind="stable")[:CANDIDATES].tolist()
            near += [a for a, b in sorted(changed) if b == later and a not in near]
            for at in filter(is_short.__getitem__, near):
                texts = told[at]["text"], told[later]["text"]
                is_change, fold = (at, later) in changed, number % FOLDS
                yield Pair(*texts, is_change, fold, first + later, kind, store["lang"])
        first += len(told)


class Features(NamedTuple):
    """The n-grams of the later statements of pairs, and the figures of both."""

    grams: Any
    figures: NDArray[np.float64]


def features(pairs: Sequence[Pair]) -> Features:
    """The features of pairs."""
    texts = list(dict.fromkeys(pair.newer for pair in pairs))
    found = linear.grams(texts, [""] * len(texts))
    scales = np.array([GRAMS[group] for group in linear.GROUPS])
    values = np.repeat((found.factors * scales).ravel(), np.diff(found.starts))
    starts = found.starts[:: len(linear.GROUPS)]
    grams = csr_matrix((values, found.buckets, starts), (len(texts), linear.BUCKETS))
    place = {text: at for at, text in enumerate(texts)}
    figures = np.array([change.figures(pair.older, pair.newer) for pair in pairs])
    return Features(grams[[place[pair.newer] for pair in pairs]], figures)


class Model(NamedTuple):
    """The weights of a model; see `salience.language.change`."""

    means: NDArray[np.float64]
    spreads: NDArray[np.float64]
    of_grams: NDArray[np.float64]
    of_pairs: NDArray[np.float64]
    bias: float
    near: NDArray[np.float64]


def levels(figures: NDArray[np.float64], model: Model) -> NDArray[np.float64]:
    """The figures in standard deviations."""
    limit = change.MAX_DEVIATION
    return ((figures - model.means) / model.spreads).clip(-limit, limit)


def logistic(
    sparse: Any, dense: NDArray[np.float64], wanted: NDArray[Any], weights: NDArray[np.float64],
    penalties: tuple[float, float],
) -> NDArray[np.float64]:  # fmt: skip
    """The weights of a logistic regression: of the sparse columns, the dense ones, the bias."""
    cut = sparse.shape[1]
    back = sparse.T.tocsr()
    penalty = np.repeat([*penalties, 0.0], [cut, dense.shape[1], 1])

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scores = sparse @ flat[:cut] + dense @ flat[cut:-1] + flat[-1]
        errors = weights * (1.0 / (1.0 + np.exp(-scores)) - wanted)
        total = float(weights @ (np.logaddexp(0.0, scores) - wanted * scores))
        slopes = np.concatenate([back @ errors, dense.T @ errors, [errors.sum()]])
        return total + float(penalty @ flat**2) / 2, slopes + penalty * flat

    start = np.zeros(len(penalty))
    best = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
    return np.asarray(best.x)


def with_products(levels: NDArray[np.float64]) -> NDArray[np.float64]:
    """The columns of an array, and the products of each two of them."""
    one, other = np.triu_indices(levels.shape[1])
    return np.hstack([levels, levels[:, one] * levels[:, other]])


def fit(pairs: Sequence[Pair], of: Features, chosen: NDArray[np.bool_]) -> Model:
    """The model of the chosen pairs."""
    kind = np.array([pair.kind for pair in pairs])
    wanted = np.array([pair.changes for pair in pairs], float)
    usual = of.figures[chosen & (kind == "labelled")]
    empty = np.zeros(0)
    spreads = usual.std(axis=0) + 1e-9
    model = Model(usual.mean(axis=0), spreads, empty, empty, 0.0, empty)
    dense = levels(of.figures, model)
    contrast = np.array([pair.hand == "C" for pair in pairs]) & (kind == "labelled")
    weights = np.select(
        [kind == "mismatch", (kind == "store") & (wanted > 0), kind == "store"],
        [NEAR_MISMATCH, NEAR_CHANGE, NEAR_STORE],
        1.0,
    )
    some = np.flatnonzero(chosen & ((kind != "labelled") | (wanted > 0) | contrast))
    nothing = csr_matrix((len(some), 0))
    products = with_products(dense)
    near = logistic(nothing, products[some], wanted[some], weights[some], (1.0, OF_NEAR))
    nearness = products @ near[:-1] + near[-1]
    nearest = kind == "labelled"
    for _, group in groupby(np.flatnonzero(kind == "store").tolist(), lambda at: pairs[at].later):
        places = [*group]
        nearest[[at for at in places if wanted[at]]] = True
        nearest[max(places, key=lambda at: nearness[at])] = True
    weights = np.where(kind == "store", np.where(wanted > 0, STORE_CHANGE, STORE_OTHER), 1.0)
    some = np.flatnonzero(chosen & nearest)
    found = logistic(of.grams[some], dense[some], wanted[some], weights[some], (OF_GRAMS, OF_PAIRS))
    cut = linear.BUCKETS
    return model._replace(
        of_grams=found[:cut], of_pairs=found[cut:-1], bias=float(found[-1]), near=near
    )


def scores(pairs: Sequence[Pair], of: Features, model: Model) -> NDArray[np.float64]:
    """The score of each pair, those of one later statement being rivals if they are of a store."""
    dense = levels(of.figures, model)
    near = with_products(dense) @ model.near[:-1] + model.near[-1]
    rivals = np.logaddexp(near, change.NO_PAIR)
    store = np.array([pair.kind in ("store", "test") for pair in pairs])
    for _, group in groupby(np.flatnonzero(store).tolist(), lambda at: pairs[at].later):
        places = [*group]
        rivals[places] = np.logaddexp.reduce([*near[places], change.NO_PAIR])
    told = of.grams @ model.of_grams + dense @ model.of_pairs + model.bias
    return np.asarray(told + change.NEARNESS * (near - rivals))


def likeliest(pairs: Sequence[Pair], found: NDArray[np.float64], kind: str) -> list[int]:
    """The places of the pairs of the highest score, one for each memory of the stores."""
    places = [at for at, pair in enumerate(pairs) if pair.kind == kind]
    groups = groupby(places, lambda at: pairs[at].later)
    return [max(group, key=found.__getitem__) for _, group in groups]


def calibration(found: NDArray[np.float64], wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """The factor and the bias by which scores of held-out pairs become probabilities."""
    ones = np.ones(len(found))
    nothing = csr_matrix((len(found), 0))
    return logistic(nothing, found[:, np.newaxis], wanted, ones, (1.0, 1e-6))


def report(pairs: Sequence[Pair], chances: NDArray[np.float64]) -> None:
    """Print the shares of pairs that are taken for changes, by the least probability."""
    wanted = np.array([pair.changes for pair in pairs])
    for least in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7):
        print(f"from {least}", end="  ")
        for name in (
            "all",
            "hand A",
            "hand B",
            "hand C",
            *sorted({pair.lang for pair in pairs}),
        ):
            own = np.array(
                [
                    pair.kind == "labelled"
                    and (name in ("all", pair.lang) or name == f"hand {pair.hand}")
                    for pair in pairs
                ]
            )
            taken = chances >= least
            right, wrong = (
                taken[own & (wanted == is_change)].mean() for is_change in (True, False)
            )
            print(f"{name} {right:.2f}/{wrong:.3f}", end="  ")
        for kind in ("store", "test"):
            best = np.array(likeliest(pairs, chances, kind))
            marked = best[chances[best] >= least]
            told = len({pair.later for pair in pairs if pair.kind == kind and pair.changes})
            print(f"{kind} {wanted[marked].sum()} of {len(marked)}, {told} change", end="  ")
        print()


def write(model: Model, scale: NDArray[np.float64]) -> None:
    """Write a model, and the factor and bias of its scores, where the package reads them."""
    rows = np.zeros((DIMENSIONS, 1))
    of_grams, bias = model.of_grams[:, np.newaxis], np.array([model.bias])
    linear.save(change.WEIGHTS, {"change": ("change",)}, GRAMS, rows, of_grams, bias, [1.0])
    lines = (model.means, model.spreads, model.of_pairs, model.near, scale)
    written = (" ".join(f"{number:.6g}" for number in line) for line in lines)
    change.PAIR_WEIGHTS.write_text("\n".join([*written, ""]), encoding="ascii")
    change._models.cache_clear()


_NOW = {
    "en": " now", "de": " jetzt", "es": " ahora", "fr": " maintenant", "it": " adesso",
    "pt": " agora", "nl": " nu", "ru": " сейчас",
}  # fmt: skip


_THEN = {"zh": "现在", "ja": "今、"}


def searched(rows: Sequence[Sequence[str]], others: Sequence[str]) -> Counter[str]:
    """Of pairs with questions, how often the right one comes first, and how many are marked.

    Both are told half a year apart, among four statements of other domains.
    """
    found: Counter[str] = Counter()
    rng = np.random.RandomState(2)
    for lang, label, _, old, new, present, past, _ in rows:
        texts = [("old", old, "2025-09-01"), ("new", new, "2026-04-01")]
        around = rng.choice(len(others), 4, replace=False).tolist()
        texts += [(f"x{at}", others[n], f"2026-0{at + 1}-11") for at, n in enumerate(around)]
        with Memory("ram://", dedup=False) as memory:
            for id, text, at in sorted(texts, key=lambda each: each[2]):
                memory.add(text, id=id, speaker="user", session_id=id, created_at=at)

            def first(question: str, memory: Memory = memory) -> SearchResult:
                return memory.search(question, now="2026-05-20", touch=False)

            asked = first(present)
            marked = any(hit.id == "old" and hit.may_be_replaced_by for hit in asked)
            found[f"{label} {lang}"] += 1
            found[f"{label} {lang} marked"] += marked
            if label != "both":
                mark = next((mark for mark in (" ?", "?") if present.endswith(mark)), "")
                word = _NOW.get(lang)
                now = (
                    present.removesuffix(mark) + word + mark if word else f"{_THEN[lang]}{present}"
                )
                found[f"{label} {lang} stale"] += asked.ids[:1] == ("old",)
                found[f"{label} {lang} stale now"] += first(now).ids[:1] == ("old",)
                found[f"{label} {lang} past"] += first(past).ids[:1] == ("old",)
    return found


def main() -> None:
    """Fit and write the weights, or measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folds", action="store_true", help="measure on what was held out")
    parser.add_argument("--search", action="store_true", help="the same, through searches")
    arguments = parser.parse_args()
    pairs = labelled()
    pairs += mismatched(pairs)
    pairs += of_stores("train", "store", 1_000_000)
    pairs += of_stores("choice", "store", 2_000_000)
    pairs += of_stores("test", "test", 3_000_000)
    of = features(pairs)
    kind, fold = (np.array([getattr(pair, name) for pair in pairs]) for name in ("kind", "fold"))
    found = np.zeros(len(pairs))
    for out in range(FOLDS):
        held = (fold == out) & ((kind == "labelled") | (kind == "store"))
        found[held] = scores(pairs, of, fit(pairs, of, (kind != "test") & (fold != out)))[held]
    model = fit(pairs, of, kind != "test")
    found[kind == "test"] = scores(pairs, of, model)[kind == "test"]
    best = likeliest(pairs, found, "store")
    scale = calibration(found[best], np.array([float(pairs[at].changes) for at in best]))
    report(pairs, 1.0 / (1.0 + np.exp(-(scale[0] * found + scale[1]))))
    if arguments.folds:
        return
    if arguments.search:
        rows = [
            line.split("\t") for line in (CORPUS / "changes.tsv").read_text("utf-8").splitlines()
        ]
        total: Counter[str] = Counter()
        for out in range(FOLDS):
            write(fit(pairs, of, (kind != "test") & (fold != out)), scale)
            own = [row for at, row in enumerate(rows) if fold[at] == out and row[5] != "-"]
            others = [row[3] for at, row in enumerate(rows) if fold[at] != out and row[0] == "en"]
            total += searched(own, others)
        for name, count in sorted(total.items()):
            print(f"{name:24} {count}")
    write(model, scale)


if __name__ == "__main__":
    main()
