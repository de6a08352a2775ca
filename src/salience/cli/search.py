"""Commands that rank: search, explain, compare, context and profiles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from salience.cli import output
from salience.cli.completion import one_of
from salience.cli.operations import REQUIRED, operation, parameters_of, with_whole_ids
from salience.cli.settings import Settings
from salience.errors import InvalidInput
from salience.language.query_analysis import asks_something
from salience.language.tokens import shorten
from salience.ranking import profiles as built_in
from salience.ranking.profile import Profile
from salience.records.field_filters import with_fields
from salience.search.compare import Comparison
from salience.search.cutoff import doubt

if TYPE_CHECKING:
    from salience.engine.memory import Memory
    from salience.search.results import SearchResult

_CLOSE = 3  # memories that are named where none answers

ProfileName = Annotated[str, typer.Option(autocompletion=one_of(built_in.BUILT_IN))]


def profile_of(name: str, rerank: str | None) -> Profile:
    """The profile of a name, perhaps with a model that reads its best again."""
    if rerank is None:
        return built_in.get(name)
    from salience.rerankers import reranked

    return reranked(name, rerank)


@parameters_of("search")
def search(
    settings: Settings,
    profile: ProfileName = "balanced",
    rerank: str | None = None,
    explain: bool = False,
    **values: Any,
) -> None:
    """Find the memories that matter for a query."""
    with settings.open(profile=profile_of(profile, rerank)) as memory:
        result = memory.search(**values, explain=explain or not settings.json)
        if not result.hits:
            output.elsewhere(memory)
        near = result if result.hits else _near(memory, result, with_fields(values).get("filters"))
    output.degraded(result.degraded)
    output.taken(result.taken)
    # Of a text that asks nothing, the probability says nothing, unless it left no hits.
    asks = asks_something(result.query) or not result.hits
    doubtful = doubt(near.probability) if asks and near.hits else None
    if doubtful is not None:
        output.note(f"{doubtful} This came close:")
    if settings.json:
        output.emit(result.to_dict())
    elif result.hits:
        from salience.cli import render

        console = output.console()
        console.print(render.hits(result.hits, console.width, settings.zone))
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


@parameters_of("explain_many", without=("everywhere",))
def explain(
    settings: Settings,
    profile: ProfileName = "balanced",
    rerank: str | None = None,
    html: Path | None = None,
    full: bool = False,
    **values: Any,
) -> None:
    """Explain why a query finds a memory or not, and what would change that."""
    with settings.open(profile=profile_of(profile, rerank)) as memory:
        values = with_whole_ids(memory, values)
        reports = memory.explain_many(**values)
    if html is not None:
        if len(reports) > 1:
            raise InvalidInput("html", "holds one explanation", "give one id")
        output.write_file("html", html, reports[0].to_html())
    if settings.json:
        documents = [report.to_dict() for report in reports]
        output.emit(documents[0] if len(documents) == 1 else {"reports": documents})
        return
    from salience.cli import render

    console = output.console()
    for place, report in enumerate(reports):
        if place:
            console.print()
        render.show_report(console, report, full=full)


@operation(
    "inspect.compare", embeds=True, profiles=REQUIRED, failed=lambda found: not found.memories
)
def compare(settings: Settings, comparison: Comparison, **_: Any) -> None:
    """Compare the hits of several profiles, and show what moved each memory."""
    from salience.cli import render

    if len(comparison):
        render.show_comparison(output.console(), comparison)
    else:
        output.note("nothing found")


@parameters_of("get_context")
def context(
    settings: Settings, profile: ProfileName = "balanced", rerank: str | None = None, **values: Any
) -> None:
    """Build a prompt context for a query, within a token budget."""
    with settings.open(profile=profile_of(profile, rerank)) as memory:
        context = memory.get_context(**values)
        if not context.ids:
            output.elsewhere(memory)
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
        if output.emitted(settings, chosen[0].to_dict()):
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
