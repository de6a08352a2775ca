"""Fit the reader of queries (`salience.language.reader`), or measure it on what it did not see.

    python train_queries.py FOLDER ... --requests FOLDER  # writes the weights into the package
    python train_queries.py                               # those of what held before only
    python train_queries.py --measure                     # fitted without the part for choices

A query of the everyday stores is a request or asks for what is kept; `corpus/queries.tsv` has more
of both. Of other sets of conversations, in FOLDERs, no question is a request, or each is. What asks
for what held before is learned from the questions of `queries.tsv` and `changes.tsv` and from those
of the stores about what changed.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from salience.evaluation import datasets
from salience.language import linear
from salience.language.reader import QUERY_WEIGHTS as WEIGHTS

CORPUS = Path(__file__).parent / "corpus"
GRAMS = {"characters": 1.0, "words": 2.0, "places": 2.0, "before": 0.0}
OWN_WEIGHT, FOLDER_WEIGHT, DECAY, STEPS, SHARPNESS = 1.5, 0.2, 0.02, 80, 2.0
PAIR_WEIGHT = 0.5  # of a question about a pair of statements
_STATE_OF = {"now": "present", "before": "former", "request": "other", "event": "other"}


class Query(NamedTuple):
    """A query, whether it is a request, its kind, and its weight among the others."""

    text: str
    is_request: bool
    kind: str
    weight: float = 1.0

    @property
    def state(self) -> str:
        """The state that it asks for, "present", "former" or "other"; "" where nobody said."""
        state = _STATE_OF.get(self.kind, self.kind)
        return state if state in ("present", "former", "other") else ""


def of_stores(part: str) -> list[Query]:
    """The queries of a part of the everyday stores; what is pasted from a log is left out."""
    stores = map(json.loads, (CORPUS / f"{part}.jsonl").read_text("utf-8").splitlines())
    queries = (query for store in stores for query in store["queries"])
    return [
        Query(query["text"], query["category"] == "request", query["category"])
        for query in queries
        if query["category"] != "log"
    ]


def of_corpus() -> list[Query]:
    """The labelled queries."""
    labelled = _lines("queries.tsv")
    return [
        Query(text, label == "request", "own", OWN_WEIGHT)
        for _, label, text in labelled
        if label in ("request", "recall")
    ]


def of_states() -> list[Query]:
    """The questions of which it is known which state they ask for."""
    asked = [Query(text, False, label) for _, label, text in _lines("queries.tsv")]
    for _, _, _, _, _, now, before, _ in _lines("changes.tsv"):
        asked += [
            Query(text, False, kind, PAIR_WEIGHT)
            for text, kind in ((now, "present"), (before, "former"))
            if text not in ("", "-")
        ]
    return [query for query in asked if query.state]


def _lines(name: str) -> list[list[str]]:
    return [line.split("\t") for line in (CORPUS / name).read_text("utf-8").splitlines()]


def of_folder(folder: Path, are_requests: bool) -> list[Query]:
    """The queries of a set of conversations."""
    queries = [query.text for member in datasets.load(folder) for query in member.queries]
    return [Query(text, are_requests, folder.name, FOLDER_WEIGHT) for text in queries]


def matrix(queries: list[Query]) -> Any:
    """The n-grams of queries, shape (queries, buckets), each with the factor of its group."""
    found = linear.grams([query.text for query in queries], [""] * len(queries))
    factors = (found.factors * [GRAMS[name] for name in linear.GROUPS]).ravel()
    counts = np.diff(found.starts)
    texts = np.repeat(np.arange(len(counts)) // len(linear.GROUPS), counts)
    return csr_matrix(
        (np.repeat(factors, counts), (texts, found.buckets)), (len(queries), linear.BUCKETS)
    )


def fit(queries: list[Query], holds: list[bool]) -> NDArray[np.float64]:
    """The weights of the buckets, and the bias, by logistic loss with an L2 penalty."""
    grams = matrix(queries)
    answers = np.array(holds, dtype=np.float64)
    weights = np.array([query.weight for query in queries])

    def loss(solution: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scores = grams @ solution[:-1] + solution[-1]
        signed = np.where(answers > 0.0, scores, -scores)
        slopes = weights * (1.0 / (1.0 + np.exp(-scores)) - answers)
        value = weights @ np.logaddexp(0.0, -signed) + 0.5 * DECAY * solution[:-1] @ solution[:-1]
        return value, np.append(grams.T @ slopes + DECAY * solution[:-1], slopes.sum())

    start = np.zeros(linear.BUCKETS + 1)
    options = {"maxiter": STEPS}
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", options=options).x)


def fit_requests(queries: list[Query]) -> NDArray[np.float64]:
    """The solution for whether a query is a request."""
    return fit(queries, [query.is_request for query in queries])


def fit_former(queries: list[Query]) -> NDArray[np.float64]:
    """The solution for whether a query asks for what held before."""
    queries = [query for query in queries if query.state]
    return fit(queries, [query.state == "former" for query in queries])


def measure(
    queries: list[Query], requests: NDArray[np.float64], former: NDArray[np.float64]
) -> None:
    """Print the shares of each kind that are read as requests, and as asking what held before."""
    grams = matrix(queries)
    are_requests, ask_former = (
        grams @ solution[:-1] + solution[-1] > 0.0 for solution in (requests, former)
    )
    right = are_requests == [query.is_request for query in queries]
    print(f"right {np.mean(right):.3f}")
    for kind in sorted({query.kind for query in queries}):
        own = np.array([query.kind == kind for query in queries])
        shares = f"requests {are_requests[own].mean():.3f}, former {ask_former[own].mean():.3f}"
        print(f"{kind:12} {own.sum():5}  {shares}")


def main() -> None:
    """Fit and write, or measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "folders", nargs="*", type=Path, help="sets whose questions are no requests"
    )
    parser.add_argument(
        "--requests", nargs="*", type=Path, default=(), help="sets whose queries are requests"
    )
    parser.add_argument("--measure", action="store_true", help="without the part for choices")
    arguments = parser.parse_args()
    queries, choice = of_stores("train") + of_corpus(), of_stores("choice")
    for folders, are_requests in ((arguments.folders, False), (arguments.requests, True)):
        queries += [query for folder in folders for query in of_folder(folder, are_requests)]
    if arguments.measure:
        measure(choice, fit_requests(queries), fit_former(of_states() + of_stores("train")))
        return
    if arguments.folders:
        requests = fit_requests(queries + choice)
    else:  # as they were fitted
        model = linear.LinearModel(WEIGHTS)
        weights, units = model._of_grams[:, 0], model._units
        requests = np.append(weights * units["grams"][0], units["bias"][0])
    former = fit_former(of_states() + of_stores("train") + choice)
    heads = {"request": ("request",), "former": ("former",)}
    solution = np.column_stack([requests, former])
    linear.save(WEIGHTS, heads, GRAMS, None, solution[:-1], solution[-1], [SHARPNESS, 1.0])


if __name__ == "__main__":
    main()
