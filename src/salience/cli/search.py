"""Commands that rank: search, explain and profiles."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from salience.cli import output
from salience.cli.settings import Settings, parsed
from salience.errors import InvalidInput
from salience.ranking import profiles as built_in

Query = Annotated[str, typer.Argument(help="What is asked, in words.")]
ProfileName = Annotated[
    str, typer.Option("--profile", metavar="NAME", help="How to rank: a name, or a .json file.")
]
Where = Annotated[
    str | None,
    typer.Option("--filter", metavar="JSON", help='Only these, as in \'{"speaker": "Ana"}\'.'),
]
Now = Annotated[
    str | None, typer.Option("--now", metavar="TIME", help="Rank for another time than now.")
]
AsOf = Annotated[
    str | None,
    typer.Option("--as-of", metavar="TIME", help="Rank what there was then, as it was then."),
]
Weights = Annotated[
    str | None,
    typer.Option("--weights", metavar="JSON", help="Other weights, as in '{\"recency\": 0.5}'."),
]
Budget = Annotated[
    int | None, typer.Option("--token-budget", help="How many tokens the hits may take in all.")
]


def search(
    settings: Settings,
    query: Query,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many hits at most.")] = 10,
    profile: ProfileName = "balanced",
    where: Where = None,
    now: Now = None,
    as_of: AsOf = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show how each score came about.")
    ] = False,
    min_score: Annotated[
        float | None, typer.Option("--min-score", help="Leave out hits below it.")
    ] = None,
    weights: Weights = None,
    min_similarity: Annotated[
        float | None, typer.Option("--min-similarity", help="Leave out what is less alike.")
    ] = None,
    token_budget: Budget = None,
    context: Annotated[
        str | None,
        typer.Option("--context", metavar="NAME", help="A variant of it: vitality has some."),
    ] = None,
    archived: Annotated[
        bool, typer.Option("--archived", "--include-archived", help="Archived memories, too.")
    ] = False,
    touch: Annotated[
        bool, typer.Option("--touch/--no-touch", help="Count an access of each hit.")
    ] = True,
) -> None:
    """Find the memories that matter for a query."""
    filters, weighted = parsed("filter", where), parsed("weights", weights)
    with settings.open(profile=built_in.get(profile)) as memory:
        result = memory.search(
            query,
            limit=limit,
            filters=filters,
            now=now,
            as_of=as_of,
            touch=touch,
            explain=explain or not settings.json,
            min_score=min_score,
            weights=weighted,
            min_similarity=min_similarity,
            token_budget=token_budget,
            context=context,
            include_archived=archived,
        )
    output.degraded(result.degraded)
    if settings.json:
        output.emit(result.to_dict())
    elif result.hits:
        from salience.cli import render

        console = output.console()
        console.print(render.hits(result.hits, console.width))
        for hit in result.hits if explain else ():
            assert hit.explanation is not None
            console.print(f"{hit.rank}. {hit.id}", style="bold", markup=False)
            console.print(render.explanation(hit.explanation))
        if explain and result.read is not None:
            console.print(f"{result.read[0]:,} of {result.read[1]:,} memories were read")
    if not result.hits:
        output.nothing()


def explain(
    settings: Settings,
    query: Query,
    id: Annotated[str, typer.Argument(help="The memory's id.")],
    limit: Annotated[int, typer.Option("--limit", "-n", help="Where the hits end.")] = 10,
    profile: ProfileName = "balanced",
    where: Where = None,
    now: Now = None,
    weights: Weights = None,
    token_budget: Budget = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write the answer as a page, too.")
    ] = None,
) -> None:
    """Say why a memory is found for a query or not, and what would change it."""
    filters, weighted = parsed("filter", where), parsed("weights", weights)
    with settings.open(profile=built_in.get(profile)) as memory:
        reason = memory.explain(
            query,
            id,
            limit=limit,
            filters=filters,
            now=now,
            weights=weighted,
            token_budget=token_budget,
        )
    if html is not None:
        try:
            html.write_text(reason.to_html(), encoding="utf-8")
        except OSError as problem:
            told = f"{html} cannot be written: {problem.strerror}"
            raise InvalidInput("html", told, "give a file in a folder that exists") from None
    if settings.json:
        output.emit(reason.to_dict())
        return
    from salience.cli import render_explain

    render_explain.show_reason(output.console(), reason)


def compare(
    settings: Settings,
    query: Query,
    chosen: Annotated[
        list[str],
        typer.Option("--profile", metavar="NAME", help="A name, or a .json file; two or more."),
    ],
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many hits of each.")] = 10,
    where: Where = None,
    now: Now = None,
    as_of: AsOf = None,
) -> None:
    """Show one query under several profiles side by side, and what moved each memory."""
    filters, profiles = parsed("filter", where), [built_in.get(name) for name in chosen]
    with settings.open() as memory:
        found = memory.compare(query, profiles, limit=limit, filters=filters, now=now, as_of=as_of)
    output.degraded(found.degraded)
    if settings.json:
        output.emit(found.to_dict())
    elif len(found):
        from salience.cli import render_explain

        render_explain.show_comparison(output.console(), found)
    if not len(found):
        output.nothing()


def context(
    settings: Settings,
    query: Query,
    tokens: Annotated[int, typer.Option("--max-tokens", help="How many at most.")] = 2000,
    form: Annotated[
        str, typer.Option("--format", metavar="NAME", help="text, markdown, xml or messages.")
    ] = "text",
    profile: ProfileName = "balanced",
    where: Where = None,
    now: Now = None,
    as_of: AsOf = None,
    touch: Annotated[
        bool, typer.Option("--touch/--no-touch", help="Count an access of each memory in it.")
    ] = True,
) -> None:
    """Write down what matters for a query within a token budget, for an agent to read."""
    filters = parsed("filter", where)
    with settings.open(profile=built_in.get(profile)) as memory:
        found = memory.get_context(
            query,
            tokens,
            format=form,  # type: ignore[arg-type]  # a wrong one is refused by name
            filters=filters,
            now=now,
            as_of=as_of,
            touch=touch,
        )
    output.degraded(found.degraded)
    crowded = any(each.without_room for each in found.sections)
    if settings.json:
        output.emit(found.to_dict())
    elif found.ids or crowded:
        from salience.cli import render_explain

        render_explain.show_context(output.console(), found)
    if not found.ids:
        output.nothing("nothing fits" if crowded else "nothing found")


def profiles(
    settings: Settings,
    action: Annotated[
        str | None, typer.Argument(metavar="[show NAME]", help="Show one of them.")
    ] = None,
    name: Annotated[str | None, typer.Argument(hidden=True)] = None,
) -> None:
    """List the ways to rank, or show the formula of one."""
    if action not in (None, "show") or (action is None) != (name is None):
        raise typer.BadParameter("write `salience profiles` or `salience profiles show NAME`")
    if name is not None:
        chosen = [built_in.get(name)]
        if settings.json:
            output.emit(chosen[0].to_dict())
            return
    else:
        chosen = list(built_in.BUILT_IN.values())
        if settings.json:
            output.emit(
                [{"name": one.name, "doc": one.doc, "formula": str(one.signal)} for one in chosen]
            )
            return
    from salience.cli import render, render_explain

    console = output.console()
    if name is not None:
        render_explain.show_profile(console, chosen[0])
        return
    listed = render.table("profile", "what it is for")
    for one in chosen:
        listed.add_row(one.name, one.doc)
    console.print(listed)
