"""Commands that measure: eval for quality, bench for speed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from salience.cli import output
from salience.cli.search import profile_of
from salience.cli.settings import Settings
from salience.errors import InvalidInput
from salience.ranking import profiles

if TYPE_CHECKING:
    from salience.evaluation.tuning import Tuned


def eval_(
    settings: Settings,
    folders: list[Path] | None = None,
    profile: list[str] | None = None,
    rerank: str | None = None,
    embedder: list[str] | None = None,
    store: Literal["sqlite", "ram"] = "sqlite",
    check: bool = False,
    log: Path | None = None,
    save: Path | None = None,
    against: Path | None = None,
    gate: Path | None = None,
    page: Path | None = None,
    abstention: bool = False,
    unanswerable: Path | None = None,
    leave_out: bool = False,
) -> None:
    """Measure recall on conversations, recorded searches, or a bundled notebook."""
    if (folders and log) or not (folders or abstention or log):
        remedy = "give folders, or --abstention, or --log"
        raise InvalidInput("eval", "has nothing, or two things, to measure on", remedy)
    if unanswerable is not None and not abstention:
        raise InvalidInput("unanswerable", "belongs to --abstention", "give both")
    if abstention:
        _abstention(settings, folders or [], unanswerable, profile, embedder)
        return
    if leave_out:
        _leave_out(settings, folders or [], profile, embedder)
        return
    from salience.evaluation import comparison, runner, searches
    from salience.evaluation import page as figures_page

    former = None if (run := gate or against) is None else comparison.read_run(run)

    rankings = [profile_of(name, rerank) for name in profile or ["balanced"]]
    embedders = embedder or [settings.embedder or "default"]
    with output.progress() as progress:
        if log is None:
            report = runner.evaluate(
                folders or [],
                profiles=rankings,
                embedders=embedders,
                store=_server(settings) or store,
                check=check,
                progress=progress,
            )
        else:
            report = searches.evaluate_log(
                log, settings.url, profiles=rankings, embedder=embedders[0], progress=progress
            )
    changes = () if former is None else comparison.compare_runs(former, report.outcomes)
    if save is not None:
        output.write_file("save", save, comparison.run_to_json(report.outcomes))
    if page is not None:
        output.write_file("page", page, figures_page.page(report.outcomes, changes))
    for message in dict.fromkeys(report.notes):
        output.note(message)
    if settings.json:
        changed = {} if former is None else {"changes": [each.to_dict() for each in changes]}
        output.emit(report.to_dict() | changed)
    else:
        from salience.cli import render_quality

        console = output.console(table=True)
        console.print(render_quality.report(report))
        if changes:
            console.print(render_quality.changes(changes))
    if report.check is not None and not report.check.passed:
        broken = report.check
        output.note(
            f"the check failed: {broken.unexplained:,} scores differ from their explanations, "
            f"and the stores differ on {broken.stores_differ:,} of {broken.queries:,} queries"
        )
        raise typer.Exit(1)
    fallen = [change for change in changes if change.fell]
    if gate is not None and fallen:
        output.note(f"{len(fallen)} of {len(changes)} figures fell below those of {gate}")
        raise typer.Exit(1)


def _server(settings: Settings) -> str | None:
    """The URL of a server to measure on; None for a file, which is left alone."""
    if settings.db is None or settings.url.startswith("postgres"):
        return settings.db and settings.url
    output.note(f"measured in a store of its own; {settings.db} is not touched")
    return None


def _abstention(
    settings: Settings,
    folders: list[Path],
    unanswerable: Path | None,
    profile: list[str] | None,
    embedder: list[str] | None,
) -> None:
    from salience.evaluation import abstention

    chosen = [profiles.get(name) for name in profile or ["balanced"]]
    with output.progress() as progress:
        outcomes = [
            outcome
            for name in embedder or [settings.embedder or "default"]
            for outcome in abstention.evaluate(
                folders,
                unanswerable=unanswerable,
                profiles=chosen,
                embedder=name,
                progress=progress,
            )
        ]
    if output.emitted(settings, [outcome.to_dict() for outcome in outcomes]):
        return
    from salience.cli import render

    lines = {
        "questions with an answer": "answerable_count",
        "questions without": "unanswerable_count",
        "AUROC": "auroc",
        "calibration error": "calibration_error",
        "exactly the right memories": "exact",
        "at least one right": "any_right",
        "no hits without an answer": "silent",
    }
    for outcome in outcomes:
        title = (outcome.set, outcome.unanswerable, outcome.profile, outcome.embedder)
        output.console().print(f"[bold]{' · '.join(title)}[/bold]")
        values = {line: getattr(outcome, name) for line, name in lines.items()}
        rounded = {k: round(v, 3) if isinstance(v, float) else v for k, v in values.items()}
        output.console().print(render.figures(rounded))


def _leave_out(
    settings: Settings, folders: list[Path], profile: list[str] | None, embedder: list[str] | None
) -> None:
    from salience.evaluation.rankings import leave_out

    chosen = profiles.get((profile or ["balanced"])[0])
    embedder_name = (embedder or [settings.embedder or "default"])[0]
    with output.progress() as progress:
        results = leave_out(folders, chosen, embedder_name, progress=progress)
    if output.emitted(settings, [each.to_dict() for each in results]):
        return
    from salience.cli import render_quality

    output.console(table=True).print(render_quality.left_out(results))


def calibrate(
    settings: Settings,
    folders: list[Path],
    out: Path | None = None,
    generic: bool = False,
) -> None:
    """Fit the weights that turn the evidence of a search into a probability."""
    from salience.evaluation import calibration

    with output.progress() as progress:
        model = calibration.calibrate(
            folders,
            settings.embedder or "default",
            generic=generic,
            progress=progress,
        )
    if out is None:
        output.emit(model.to_dict())
    else:
        output.write_file("out", out, json.dumps(model.to_dict(), indent=2))


def tune(
    settings: Settings,
    folders: list[Path] | None = None,
    log: Path | None = None,
    profile: str = "balanced",
    part: list[str] | None = None,
    out: Path | None = None,
    seed: int = 0,
) -> None:
    """Fit the weights of a profile to questions with known answers, and check them on others."""
    from salience.evaluation import tuning

    labels = not folders and log is None
    if labels or log is not None:
        settings.require()

    with output.progress() as progress:
        tuned = tuning.tune(
            folders or [],
            profiles.get(profile),
            settings.embedder or "default",
            parts=part or (),
            seed=seed,
            progress=progress,
            log=log,
            url=settings.url if labels or log is not None else None,
            namespace=(settings.namespace or "default") if labels else None,
        )
    if settings.json:
        output.emit(tuned.to_dict())
    else:
        _print_tuned(tuned)
    if not tuned.is_kept:
        raise typer.Exit(1)
    if out is not None:
        output.write_file("out", out, tuned.profile.to_json())


def _print_tuned(tuned: Tuned) -> None:
    from salience.cli import render

    rows = render.table("questions of", "set", "n", "R@10", "", "MRR", "", numbers=["n"])
    for fold in (*tuned.folds, *tuned.left_out):
        before, after = fold.before, fold.after
        rows.add_row(
            fold.name,
            fold.set,
            f"{before.questions:,}",
            f"{before.recall:.3f}",
            f"{after.recall - before.recall:+.3f}",
            f"{before.mrr:.3f}",
            f"{after.mrr - before.mrr:+.3f}",
            style="red" if fold.is_worse else None,
        )
    console = output.console(table=True)
    console.print(rows)
    changes = render.table("part", "before", "fitted", numbers=["before", "fitted"])
    for name, weight in tuned.weights.items():
        if abs(weight - tuned.before[name]) >= 0.005:
            changes.add_row(name, f"{tuned.before[name]:.2f}", f"{weight:.2f}")
    console.print(changes)
    console.print(
        "No questions are answered worse by weights that others gave."
        if tuned.is_kept
        else "Some questions are answered worse by weights that others gave: keep those of before."
    )


def ab(settings: Settings, log: Path, first: str, second: str) -> None:
    """Repeat recorded searches under two profiles, and tell which found more of use."""
    from salience.evaluation.searches import compare_profiles

    settings.require()
    with output.progress() as progress:
        preference = compare_profiles(
            log,
            settings.url,
            profiles.get(first),
            profiles.get(second),
            embedder=settings.embedder or "default",
            progress=progress,
        )
    if output.emitted(settings, preference):
        return
    names, wins = preference.profiles, preference.wins
    even, days = preference.searches - sum(wins), preference.conversations
    output.say(
        f"{preference.searches:,} searches of {days:,} {'day' if days == 1 else 'days'}: "
        f"{wins[0]:,} for {names[0]}, {wins[1]:,} for {names[1]}, {even:,} even"
    )
    interval = f"{preference.low:+.3f} to {preference.high:+.3f}"
    output.say(f"preference for {names[1]}: {preference.preference:+.3f} ({interval})")
    better = preference.better
    output.say("the difference may be chance" if better is None else f"{better} is better")


def bench(
    settings: Settings,
    memories: int = 10_000,
    namespaces: int = 1,
    profile: str = "balanced",
    queries: int = 200,
    limit: int = 10,
    check_recall: bool = False,
    clients: Annotated[int, typer.Option(max=1000)] = 1,
    keep: Path | None = None,
) -> None:
    """Measure the speed of writing, opening and searching."""
    from salience.evaluation.benchmark import Setup
    from salience.evaluation.benchmark import bench as measure

    with output.progress() as progress:
        figures = measure(
            Setup(memories, namespaces, queries, limit),
            profile=profiles.get(profile),
            embedder=settings.embedder or "default",
            keep=keep,
            url=_server(settings),
            clients=clients,
            check_recall=check_recall,
            progress=progress,
        )
    if output.emitted(settings, figures):
        return
    from salience.cli import render

    output.console().print(render.figures(figures))
