"""The documentation as a site: what mkdocs needs besides the pages in docs/.

mkdocs calls the functions below (`hooks` in mkdocs.yml). The pages at the root of the repository
join those in docs/, and links between them are turned; a link to a file that is no page becomes
plain words. docs/profiles.md gets a plot after each formula, drawn with the profile itself. The
reference is made of docstrings and of the help of the commands. Pages that the navigation does not
name are added to it.
"""

from __future__ import annotations

import io
import posixpath
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import typer
from mkdocs.structure.files import File, Files

from salience import Memory
from salience.cli.app import app
from salience.ranking.profiles import BUILT_IN

ROOT = Path(__file__).resolve().parents[1]
OUTSIDE = tuple(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "benchmarks/**/*.md", "examples/**/*.md")
    for path in sorted(ROOT.glob(pattern))
)
REFERENCE = {
    "Memory": ("salience.engine.memory.Memory",),
    "AsyncMemory": ("salience.engine.async_memory.AsyncMemory",),
    "Results": (
        "salience.search.results.SearchResult",
        "salience.search.results.Hit",
        "salience.search.context.Context",
        "salience.write.outcomes.AddResult",
        "salience.records.record.MemoryRecord",
        "salience.records.record.Link",
        "salience.lifecycle.verify.History",
    ),
    "Import and export": ("salience.importers.read", "salience.write.transfer.formats.export_as"),
    "Ranking": ("salience.ranking.profile.Profile", "salience.ranking.expressions"),
    "Errors": ("salience.errors",),
}
COMMANDS = "Commands"
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)")
_BLOCK = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_FORMULA = re.compile(r"^<!-- formula: (\S+) -->\n```.*?^```$", re.DOTALL | re.MULTILINE)
_ADDED = datetime(2026, 1, 1, tzinfo=UTC)
_DAYS = (*range(1, 30, 2), *range(30, 366, 15))


def on_config(config: Any) -> Any:
    """Add the pages to the navigation that it does not name."""
    named = set(re.findall(r"[\w/-]+\.md", str(config.nav)))
    folder = Path(config.docs_dir)
    pages = {path.relative_to(folder).as_posix() for path in folder.rglob("*.md")}
    rest = sorted({*pages, *OUTSIDE} - named)
    sections = {title: pages for section in config.nav for title, pages in section.items()}
    sections["Integrate"] += [page for page in rest if page.startswith("integrations/")]
    sections["Contribute"] += [page for page in rest if not page.startswith("integrations/")]
    sections["Reference"] = [*map(_reference_page, (*REFERENCE, COMMANDS))]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages from outside, the reference and the plots."""
    for name in OUTSIDE:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    for title, names in REFERENCE.items():
        page = "\n\n".join((f"# {title}", *(f"::: {name}" for name in names)))
        files.append(File.generated(config, _reference_page(title), content=page))
    files.append(File.generated(config, _reference_page(COMMANDS), content=commands()))
    for name, drawing in plots().items():
        files.append(File.generated(config, f"plots/{name}.svg", content=drawing))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Turn links to where the pages of the site are; show the plots."""
    here = page.file.src_uri
    origin = here if here in OUTSIDE else f"docs/{here}"
    if here == "profiles.md":
        markdown = _FORMULA.sub(
            lambda found: f"{found[0]}\n\n![Score by age, {found[1]}](plots/{found[1]}.svg)",
            markdown,
        )
    start, parts = 0, []
    for block in _BLOCK.finditer(markdown):  # a block may show links
        parts += [_turned(markdown[start : block.start()], here, origin, files), block[0]]
        start = block.end()
    return "".join((*parts, _turned(markdown[start:], here, origin, files)))


def _reference_page(title: str) -> str:
    return f"reference/{title.lower().replace(' ', '-')}.md"


def _turned(text: str, here: str, origin: str, files: Files) -> str:
    def turned(link: re.Match[str]) -> str:
        path, mark, anchor = link[2].partition("#")
        if not path or "://" in path or path.startswith("plots/"):
            return link[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(origin), path))
        if (ROOT / target / "README.md").is_file():  # a folder
            target = f"{target}/README.md"
        uri = target.removeprefix("docs/") if target.startswith("docs/") else target
        if files.get_file_from_path(uri) is None:
            return link[1] if (ROOT / target).exists() else link[0]
        relative = posixpath.relpath(uri, posixpath.dirname(here) or ".")
        return f"[{link[1]}]({relative}{mark}{anchor})"

    return _LINK.sub(turned, text)


def commands() -> str:
    """The help of every command, as a page."""
    parts = [f"# {COMMANDS}", "What `salience COMMAND --help` prints."]
    waiting = [("salience", typer.main.get_command(app))]
    while waiting:
        name, command = waiting.pop(0)
        context = typer.Context(command, info_name=name, terminal_width=100)
        parts.append(f"## {name}\n\n```text\n{command.get_help(context)}\n```")
        family = getattr(command, "commands", {})
        waiting[:0] = [(f"{name} {each}", family[each]) for each in family]
    return "\n\n".join(parts)


def plots() -> dict[str, str]:
    """The score of a memory by its age, for each built-in profile, as SVG by the profile's name.

    One memory is never recalled after it was written; the other was, on the last day before each
    point. Both match the query alike, and all else is as it is by default.
    """
    curves: dict[str, dict[str, list[float]]] = {name: {} for name in BUILT_IN}
    with Memory.open("ram://") as memory:
        for label, text in (
            ("never recalled", "Ana keeps the spare key in the cellar."),
            ("recalled the day before", "Ana keeps the spare bulb in the cellar."),
        ):
            namespace = memory.for_namespace(label)
            namespace.add(text, id="it", importance=0.6, created_at=_ADDED)
            for days in _DAYS:
                now = _ADDED + timedelta(days=days)
                if "day" in label:
                    namespace.touch("it", now=now - timedelta(days=1))
                for name in BUILT_IN:
                    hits = namespace.search(
                        "Where does Ana keep the spare one?", profile=name, now=now, touch=False
                    )
                    score = hits[0].score if hits else 0.0
                    curves[name].setdefault(label, []).append(score)
    return {name: drawn(name, lines) for name, lines in curves.items()}


def drawn(name: str, curves: dict[str, list[float]]) -> str:
    """A drawing of curves over the days as SVG, without a date, so that it is always the same."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"svg.hashsalt": name, "font.size": 9}):
        figure = Figure(figsize=(6.4, 2.4), layout="constrained")
        axes = figure.add_subplot()
        for style, (label, scores) in zip(("-", "--"), curves.items(), strict=True):
            axes.plot(_DAYS, scores, style, label=label)
        axes.set(xlabel="days since it was written", ylabel="score", title=name)
        axes.set_ylim(bottom=min(0.0, *(min(scores) for scores in curves.values())))
        axes.legend(frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()
