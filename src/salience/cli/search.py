"""Commands that rank: search, explain, compare, context and profiles."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from salience.api.docstrings import descriptions
from salience.cli import output
from salience.cli.completion import one_of
from salience.cli.settings import Settings, parse_json, with_options
from salience.errors import InvalidInput
from salience.language.query_analysis import asks_something
from salience.language.tokens import shorten
from salience.ranking import profiles as built_in
from salience.ranking.constants import CONSTANTS, ConstantOptions, Replaceable
from salience.ranking.profile import Profile
from salience.records.field_filters import FieldFilters, with_fields
from salience.search.context.packing import FORMATS
from salience.search.cutoff import CUTOFFS, doubt
from salience.search.request import WordOptions

if TYPE_CHECKING:
    from salience.engine.memory import Memory
    from salience.search.results import SearchResult

_CLOSE = 3  # memories that are named where none answers

Query = Annotated[str, typer.Argument(help="The question, in words.")]
ProfileName = Annotated[
    str,
    typer.Option(
        "--profile",
        metavar="NAME",
        help="The ranking profile: a name, or a .json file.",
        autocompletion=one_of(built_in.BUILT_IN),
    ),
]
RerankModel = Annotated[
    str | None,
    typer.Option(
        "--rerank",
        metavar="MODEL",
        help="Let a model, as cross-encoder:<model>, read the best again.",
    ),
]
Where = Annotated[
    str | None,
    typer.Option(
        "--filter", metavar="JSON", help='Only memories that match, as in \'{"speaker": "Ana"}\'.'
    ),
]
Now = Annotated[
    str | None, typer.Option("--now", metavar="TIME", help="Rank as if it were this time.")
]
AsOf = Annotated[
    str | None,
    typer.Option("--as-of", metavar="TIME", help="Rank the memories of that time, as they were."),
]
Weights = Annotated[
    str | None,
    typer.Option(
        "--weights",
        metavar="JSON",
        help="Change weights of the profile, as in '{\"recency\": 0.5}'.",
    ),
]
Budget = Annotated[
    int | None, typer.Option("--token-budget", help="Maximum number of tokens of all hits.")
]
MinScore = Annotated[
    float | None, typer.Option("--min-score", help="Leave out hits with lower scores.")
]
MinProbability = Annotated[
    float | None,
    typer.Option("--min-probability", help="Leave out hits less likely to answer, 0 to 1."),
]
CutName = Annotated[
    str | None,
    typer.Option(
        "--cut",
        metavar="NAME",
        help=f"Leave out what does not answer: {', '.join(CUTOFFS)}.",
        autocompletion=one_of(CUTOFFS),
    ),
]
MinSimilarity = Annotated[
    float | None,
    typer.Option("--min-similarity", help="Leave out memories with lower similarity."),
]
Variant = Annotated[
    str | None,
    typer.Option("--context", metavar="NAME", help="A variant of the profile; vitality has some."),
]
Archived = Annotated[
    bool,
    typer.Option("--archived", "--include-archived", help="Search archived memories, too."),
]


_MEANINGS = descriptions(ConstantOptions) | descriptions(WordOptions) | descriptions(FieldFilters)
_FLAGS = {"tags": "tag", "session_id": "session", "user_id": "user"}


def _condition(name: str, metavar: str | None = None, kind: Any = str) -> tuple[Any, None]:
    """The option for a condition on a field."""
    flag = f"--{_FLAGS.get(name, name)}"
    help = _MEANINGS[name] + (" Repeat the option for more." if name == "tags" else "")
    return Annotated[kind | None, typer.Option(flag, metavar=metavar, help=help)], None


CONDITIONS: Mapping[str, tuple[Any, Any]] = {
    "tags": _condition("tags", "TAG", list[str]),
    **{name: _condition(name) for name in ("kind", "speaker", "session_id", "user_id")},
    **{name: _condition(name, "TIME") for name in ("since", "until")},
}
"""Conditions on fields as options, besides --filter, by the names that the methods give them."""


def conditions(where: str | None, options: Mapping[str, Any]) -> Any:
    """The filter of --filter and the conditions among the options of a command."""
    given = {name: options[name] for name in CONDITIONS if options.get(name) not in (None, [])}
    return with_fields({"filters": parse_json("filter", where), **given})["filters"]


def _replacing(name: str) -> tuple[Any, None]:
    """The option that replaces a constant of the profile, or the query in one comparison."""
    constant = CONSTANTS.get(name)
    value: Any = str
    if isinstance(constant, Replaceable):
        value = int if constant.whole else float
    metavar = "TEXT" if constant is None else None
    return Annotated[value | None, typer.Option(metavar=metavar, help=_MEANINGS[name])], None


_RANKING: Mapping[str, tuple[Any, Any]] = {
    "filters": (Where, None),
    **CONDITIONS,
    "now": (Now, None),
    "as_of": (AsOf, None),
    "min_score": (MinScore, None),
    "min_probability": (MinProbability, None),
    "cut": (CutName, None),
    "weights": (Weights, None),
    "min_similarity": (MinSimilarity, None),
    "token_budget": (Budget, None),
    "context": (Variant, None),
    "include_archived": (Archived, False),
    **{name: _replacing(name) for name in (*WordOptions.__annotations__, *CONSTANTS)},
}
"""The options by which a search and its explanation rank, as the methods call them."""


def _parsed(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with their JSON read."""
    ranking = {name: value for name, value in options.items() if name not in CONDITIONS}
    filters = conditions(options["filters"], options)
    return {**ranking, "filters": filters, "weights": parse_json("weights", options["weights"])}


def profile_of(name: str, rerank: str | None) -> Profile:
    """The profile of a name, perhaps with a model that reads its best again."""
    if rerank is None:
        return built_in.get(name)
    from salience.rerankers import reranked

    return reranked(name, rerank)


@with_options(_RANKING)
def search(
    settings: Settings,
    query: Query,
    limit: int = 10,
    profile: ProfileName = "balanced",
    rerank: RerankModel = None,
    explain: bool = False,
    touch: bool = True,
    **options: Any,
) -> None:
    """Find the memories that matter for a query."""
    parsed = _parsed(options)
    with settings.open(profile=profile_of(profile, rerank)) as memory:
        result = memory.search(
            query,
            limit=limit,
            touch=touch,
            explain=explain or not settings.json,
            **parsed,
        )
        near = result if result.hits else _near(memory, result, parsed["filters"])
    output.degraded(result.degraded)
    output.taken(result.taken)
    # Of a text that asks nothing, the probability says nothing, unless it left no hits.
    asks = asks_something(query) or not result.hits
    doubtful = doubt(near.probability) if asks else None
    if doubtful is not None:
        output.note(doubtful + (" This came close:" if near.hits else ""))
    if settings.json:
        output.emit(result.to_dict())
    elif result.hits:
        from salience.cli import render

        console = output.console()
        console.print(render.hits(result.hits, console.width))
        for hit in result.hits if explain else ():
            assert hit.explanation is not None
            console.print(f"\n{hit.rank}. {hit.id}", style="bold", markup=False)
            console.print(render.score_parts(hit.explanation))
    if not result.hits:
        for hit in near.hits if doubtful else ():
            output.note(f"  {hit.id}: {shorten(hit.content, 80)}")
        output.nothing()


def _near(memory: Memory, result: SearchResult, filters: Any) -> SearchResult:
    """The memory that comes closest to answering, where a cut left no hits."""
    if result.probability is None:
        return result
    return memory.search(result.query, filters=filters, limit=_CLOSE, touch=False)


@with_options(_RANKING)
def explain(
    settings: Settings,
    query: Query,
    ids: list[str],
    against: str | None = None,
    limit: int = 10,
    profile: ProfileName = "balanced",
    rerank: RerankModel = None,
    html: Path | None = None,
    full: bool = False,
    **options: Any,
) -> None:
    """Explain why a query finds a memory or not, and what would change that."""
    with settings.open(profile=profile_of(profile, rerank)) as memory:
        reports = memory.explain_many(query, ids, against=against, limit=limit, **_parsed(options))
    if html is not None:
        if len(reports) > 1:
            raise InvalidInput("html", "holds one explanation", "give one id")
        try:
            html.write_text(reports[0].to_html(), encoding="utf-8")
        except OSError as problem:
            reason = f"{html} cannot be written: {problem.strerror}"
            raise InvalidInput("html", reason, "give a file in a folder that exists") from None
    if settings.json:
        told = [report.to_dict() for report in reports]
        output.emit(told[0] if len(told) == 1 else {"reports": told})
        return
    from salience.cli import render

    console = output.console()
    for place, report in enumerate(reports):
        if place:
            console.print()
        render.show_report(console, report, full=full)


def compare(
    settings: Settings,
    query: Query,
    profile: Annotated[list[str], typer.Option(autocompletion=one_of(built_in.BUILT_IN))],
    limit: int = 10,
    where: Where = None,
    now: Now = None,
    as_of: AsOf = None,
) -> None:
    """Compare the hits of several profiles side by side, and show what moved each memory."""
    filters, profiles = parse_json("filter", where), [built_in.get(name) for name in profile]
    with settings.open() as memory:
        comparison = memory.compare(
            query, profiles, limit=limit, filters=filters, now=now, as_of=as_of
        )
    output.degraded(comparison.degraded)
    output.taken(comparison.taken)
    if settings.json:
        output.emit(comparison.to_dict())
    elif len(comparison):
        from salience.cli import render

        render.show_comparison(output.console(), comparison)
    if not len(comparison):
        output.nothing()


@with_options(CONDITIONS)
def context(
    settings: Settings,
    query: Query,
    max_tokens: int = 2000,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="NAME",
            help=f"One of {', '.join(FORMATS)}.",
            autocompletion=one_of(FORMATS),
        ),
    ] = "text",
    profile: ProfileName = "balanced",
    rerank: RerankModel = None,
    where: Where = None,
    now: Now = None,
    as_of: AsOf = None,
    cut: CutName = None,
    per_writer: int | None = None,
    touch: bool = True,
    trace: bool = False,
    **options: Any,
) -> None:
    """Write the memories that matter for a query as text for an agent, within a token budget."""
    filters = conditions(where, options)
    with settings.open(profile=profile_of(profile, rerank)) as memory:
        context = memory.get_context(
            query,
            max_tokens,
            format=form,  # type: ignore[arg-type]  # a wrong one is refused by name
            filters=filters,
            now=now,
            as_of=as_of,
            cut=cut,  # type: ignore[arg-type]  # a wrong one is refused by name
            touch=touch,
            per_writer=per_writer,
            trace=trace,
        )
    output.degraded(context.degraded)
    output.taken(context.taken)
    if context.beyond_cap:
        output.note(f"{context.beyond_cap:,} more of the same writers are left out")
    crowded = any(each.without_room for each in context.sections)
    if settings.json:
        output.emit(context.to_dict())
    elif context.ids or crowded:
        from salience.cli import render

        render.show_context(output.console(), context)
    if not context.ids:
        output.nothing("nothing fits" if crowded else "nothing found")


def profiles(
    settings: Settings,
    action: str | None = None,
    name: Annotated[
        str | None, typer.Argument(hidden=True, autocompletion=one_of(built_in.BUILT_IN))
    ] = None,
) -> None:
    """List the ranking profiles, or show the formula of one."""
    if action not in (None, "show") or (action is None) != (name is None):
        raise typer.BadParameter("write `salience profiles` or `salience profiles show NAME`")
    if name is not None:
        chosen = [built_in.get(name)]
        if output.told(settings, chosen[0].to_dict()):
            return
    else:
        chosen = list(built_in.BUILT_IN.values())
        if settings.json:
            output.emit(
                [
                    {"name": profile.name, "doc": profile.doc, "formula": str(profile.signal)}
                    for profile in chosen
                ]
            )
            return
    from salience.cli import render

    console = output.console()
    if name is not None:
        render.show_profile(console, chosen[0])
        return
    rows = render.table("profile", "what it is for")
    for profile in chosen:
        rows.add_row(profile.name, profile.doc)
    console.print(rows)
