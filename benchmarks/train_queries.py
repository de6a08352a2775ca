"""Fit the reader of queries (`salience.language.reader`), or measure it on what it did not see.

    python train_queries.py FOLDER ... --requests FOLDER  # writes the weights into the package
    python train_queries.py                               # those of which state is asked for only
    python train_queries.py --measure                     # fitted without the part for choices

A query of the everyday stores is a request or asks for what is kept; `corpus/queries.tsv` has more
of both. Of other sets of conversations, in FOLDERs, no question is a request, or each is. Which
state is asked for, the present or a former one, is learned from the questions of `queries.tsv` and
`changes.tsv` and from those of the stores about what changed.
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
from salience.language.reader import STATES

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
        """The one of STATES that it asks for, "" where nobody said."""
        state = _STATE_OF.get(self.kind, self.kind)
        return state if state in STATES else ""


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


def fit(queries: list[Query], answers: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weights of the buckets, and last the bias, for each column of answers: (n + 1, columns).

    By logistic loss with an L2 penalty: one column is whether it holds, several have one that does.
    """
    grams = matrix(queries)
    weights = np.array([query.weight for query in queries])
    shape = (linear.BUCKETS + 1, answers.shape[1])
    heads = {"answer": [*map(str, range(answers.shape[1]))]}

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        solution = flat.reshape(shape)
        scores = grams @ solution[:-1] + solution[-1]
        chances = linear.probabilities(scores, heads, [1.0])["answer"]
        right = np.where(answers > 0.0, chances, 1.0 - chances)
        told = np.log(np.maximum(right, 1e-12))
        told = told if answers.shape[1] == 1 else told * answers
        slopes = weights[:, np.newaxis] * (chances - answers)
        value = 0.5 * DECAY * (solution[:-1] ** 2).sum() - weights @ told.sum(axis=1)
        gradient = np.vstack([grams.T @ slopes + DECAY * solution[:-1], slopes.sum(axis=0)])
        return value, gradient.ravel()

    options = {"maxiter": STEPS}
    start = np.zeros(shape).ravel()
    return np.asarray(
        minimize(loss, start, jac=True, method="L-BFGS-B", options=options).x
    ).reshape(shape)


def fit_requests(queries: list[Query]) -> NDArray[np.float64]:
    """The solution for whether a query is a request."""
    return fit(queries, np.array([[float(query.is_request)] for query in queries]))


def fit_states(queries: list[Query]) -> NDArray[np.float64]:
    """The solution for which state a query asks for."""
    queries = [query for query in queries if query.state]
    return fit(queries, np.array([[float(query.state == s) for s in STATES] for query in queries]))


def measure(
    queries: list[Query], requests: NDArray[np.float64], states: NDArray[np.float64]
) -> None:
    """Print the share of each kind that is read as a request, and as asking for each state."""
    grams = matrix(queries)
    asks = (grams @ requests[:-1] + requests[-1] > 0.0)[:, 0]
    states_read = (grams @ states[:-1] + states[-1]).argmax(axis=1)
    right = asks == [query.is_request for query in queries]
    print(f"right {np.mean(right):.3f}")
    for kind in sorted({query.kind for query in queries}):
        of_kind = np.array([query.kind == kind for query in queries])
        shares = ", ".join(
            f"{state} {np.mean(states_read[of_kind] == place):.3f}"
            for place, state in enumerate(STATES)
        )
        print(f"{kind:12} {of_kind.sum():5}  requests {np.mean(asks[of_kind]):.3f}  {shares}")


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
        measure(choice, fit_requests(queries), fit_states(of_states() + of_stores("train")))
        return
    if arguments.folders:
        requests = fit_requests(queries + choice)
    else:  # as they were fitted
        model = linear.LinearModel(WEIGHTS)
        weights, units = model._of_grams[:, :1], model._units
        requests = np.vstack([weights * units["grams"][:1], units["bias"][:1]])
    states = fit_states(of_states() + of_stores("train") + choice)
    heads = {"request": ("request",), "state": STATES}
    solution = np.hstack([requests, states])
    linear.save(WEIGHTS, heads, GRAMS, None, solution[:-1], solution[-1], [SHARPNESS, 1.0])


if __name__ == "__main__":
    main()
