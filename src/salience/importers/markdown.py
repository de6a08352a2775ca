"""Notes of files: Markdown with YAML front matter and [[wiki links]], Org, Roam, and plain text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import date, datetime
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

from salience.importers._archives import HTML
from salience.importers._entries import documents, html_text, mapping, time
from salience.importers._source import ImportProblem, Item, Job, Place, inside, stop, text
from salience.importers.notes import NOTION, Note, items_of
from salience.lazily import regex

# The front matter of a note: YAML between two rules at its beginning

_MAX_FRONT_MATTER_VALUES = 100_000
_FRONT = regex(r"\A---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)


def divided(file: Path, source: str) -> tuple[dict[str, Any], str]:
    """The front matter and the body of a note."""
    front_matter = _FRONT.match(source)
    if not front_matter:
        return {}, source
    try:
        yaml = import_module("yaml")
    except ImportError:
        raise ImportProblem(
            file, "has front matter, which needs PyYAML", "pip install 'salience[import]'"
        ) from None
    try:
        if "*" in front_matter[1]:  # there may be aliases, which a few lines can nest without end
            _check_size(yaml.compose(front_matter[1], yaml.SafeLoader))
        front = _json(yaml.safe_load(front_matter[1]))
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as problem:
        mark = getattr(problem, "problem_mark", None)
        reason = getattr(problem, "problem", None) or str(problem)
        line = 2 + mark.line if mark else 1
        if (
            isinstance(problem, ValueError)
            and (wrong := _wrong_value(yaml, front_matter[1])) is not None
        ):
            line, reason = 2 + wrong.start_mark.line, f"{wrong.value}: {reason}"
        raise ImportProblem(
            file,
            f"the front matter is not YAML: {reason}",
            "repair it, or put quotes around the value",
            line=line,
        ) from None
    if front is None:
        return {}, source[front_matter.end() :]
    if not isinstance(front, dict):  # two rules around a paragraph
        return {}, source
    return front, source[front_matter.end() :]


def _wrong_value(yaml: Any, source: str) -> Any:
    """The first value that looks like a date or a number but is not one (2026-13-45)."""
    loader = yaml.SafeLoader(source)
    nodes = [loader.get_single_node()]
    visited: set[int] = set()
    while nodes:
        node = nodes.pop()
        if id(node) in visited or node is None:
            continue
        visited.add(id(node))
        if isinstance(node.value, list):
            parts = (part if isinstance(part, tuple) else (part,) for part in node.value)
            nodes += reversed([*chain.from_iterable(parts)])
            continue
        try:
            loader.construct_object(node)
        except ValueError:
            return node
        except yaml.YAMLError:
            continue
    return None


def _check_size(root: Any) -> None:
    """Refuse a YAML node of too many values once its aliases are written out."""
    sizes: dict[int, int] = {}

    def size(node: Any) -> int:
        if id(node) not in sizes:
            sizes[id(node)] = 0  # until it is known: an alias may be within what it stands for
            within = node.value if isinstance(node.value, list) else ()
            parts = chain.from_iterable(p if isinstance(p, tuple) else (p,) for p in within)
            sizes[id(node)] = 1 + sum(map(size, parts))
        return sizes[id(node)]

    if root is not None and size(root) > _MAX_FRONT_MATTER_VALUES:
        raise ValueError(f"its aliases stand for more than {_MAX_FRONT_MATTER_VALUES:,} values")


def _json(value: Any) -> Any:
    """A YAML value in types that JSON has."""
    if isinstance(value, dict):
        return {str(key): _json(part) for key, part in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [_json(part) for part in value]
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, int) and -(2**63) <= value < 2**64:  # larger ones are kept as text
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    return str(value)


_SUFFIXES = frozenset((".md", ".markdown", ".org"))
_LISTED_PROBLEMS = 10  # of the notes of a folder that cannot be read
_NOTION_FIELD = regex(r"([A-Z][^:\n]{0,40}): (.+)")
_PROPERTY = regex(r"([\w-]+):: ?(.*)")
_ORG_LINE = regex(r"#\+(\w+):\s*(.*)", re.IGNORECASE)
_ORG_HEADING = regex(r"(\*+)\s+(.*?)(?:\s+:([\w@#%:]+):)?\s*$")
_ORG_FIELD = regex(r"\s*:([\w-]+):\s*(.*)")
_ORG_NAME = regex(r'"([^"]+)"|(\S+)')
_ORG_LINK = regex(r"\[\[(?:(file|id|roam|https?|mailto):)?([^\[\]]+)\](?:\[([^\[\]]+)\])?\]")
_ORG_CODE = regex(r"\s*#\+(?:begin|end)_(?:src|example)\b.*", re.IGNORECASE)


def read(place: Place, job: Job) -> Iterator[Item]:
    """Yield the notes of a file, or of a folder and the folders in it.

    The id of a note is that which Notion has put into its name, else it is made of its path in the
    folder. Its title is that of the front matter, else a heading of the first level on its first
    line, else the name of the file. `[[Links]]`, in its front matter too, and links to files of
    notes become links of type "mentions" to the note that is named by path, file, title, alias or
    day; the targets that no note has are also listed in `metadata["unresolved_links"]`. Hidden
    files and folders are left out. Title and tags of the front matter that are not text, and dates
    that are no time, stay in the metadata. The time of a note is a date in its front matter, else
    in the name of the file, else that of the file's last change. A note that says nothing is
    skipped, and named to `told.blank`. A note that an export has written is the memory that it was,
    with all its fields.

    Pages of HTML are read as Markdown: one by its path, or a folder without other notes.

    Raises:
        ImportProblem: a file cannot be read, or its front matter is broken; names all of them,
            unless they are left out, one by one.
    """
    is_of_pages = isinstance(place, Path) and place.is_dir() and not _has_notes(place)
    yield from _read(place, job, frozenset(HTML) if is_of_pages else _SUFFIXES)


def _has_notes(folder: Path) -> bool:
    return any(file.suffix.lower() in _SUFFIXES for file in folder.rglob("*"))


def read_texts(place: Place, job: Job) -> Iterator[Item]:
    """Yield plain texts as notes: of a file, or of a folder and the folders in it."""
    yield from _read(place, job, frozenset((".txt",)))


def _read(place: Place, job: Job, suffixes: frozenset[str]) -> Iterator[Item]:
    assert isinstance(place, Path)
    notes, problems = [], []
    for file in _files(place, suffixes):
        try:
            notes.append(_note(inside(file, place), place if place.is_dir() else place.parent))
        except ImportProblem as problem:
            problems.append(problem)
    if problems and job.left_out is stop:
        raise _together(place, problems)
    for error in problems:
        job.left_out(error)
    yield from items_of(notes, job)


def _together(path: Path, problems: list[ImportProblem]) -> ImportProblem:
    if len(problems) == 1:
        return problems[0]
    listed = [f"{p.within(path)}: {p.problem}" for p in problems[:_LISTED_PROBLEMS]]
    if len(problems) > _LISTED_PROBLEMS:
        listed.append(f"and {len(problems) - _LISTED_PROBLEMS:,} more")
    return ImportProblem(
        path,
        f"{len(problems):,} notes cannot be read: {'; '.join(listed)}",
        "repair them, or leave them out",
    )


def _files(path: Path, suffixes: frozenset[str]) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = (file for file in path.rglob("*") if file.suffix.lower() in suffixes)
    visible = [
        file
        for file in files
        if not file.is_dir() and not any(p.startswith(".") for p in file.relative_to(path).parts)
    ]
    if not visible:
        endings = " or ".join(sorted(suffixes))
        raise ImportProblem(
            path, "holds no notes", f"give a folder with files that end in {endings}"
        )
    return sorted(visible)


def _note(file: Path, folder: Path) -> Note:
    source, suffix = text(file), file.suffix.lower()
    source = html_text(file, source) if suffix in HTML else source
    place = file.relative_to(folder).with_suffix("").as_posix()
    if suffix == ".org":
        return _of_org(file, place, source)
    if suffix == ".txt":
        return Note(file, place, {}, source, has_title_line=False)
    front, body = divided(file, source)
    properties, body = _properties(body)
    place, id = _of_notion(place)
    if id:
        properties |= _notion_fields(body)
    return Note(file, place, {**properties, **front}, body, id)


def _properties(body: str) -> tuple[dict[str, Any], str]:
    """The properties of a page of Logseq (`title:: Kiln`) at its beginning, and the rest of it."""
    lines = body.lstrip("\n").split("\n")
    properties: dict[str, Any] = {}
    for line in lines:
        match = _PROPERTY.fullmatch(line.strip())
        if match is None:
            break
        properties[match[1]] = match[2].strip()
    return properties, "\n".join(lines[len(properties) :]) if properties else body


def _of_notion(place: str) -> tuple[str, str]:
    """The path of a note without the ids that Notion puts into names, and its own id."""
    parts = [NOTION.fullmatch(part) or part for part in place.split("/")]
    names = (part if isinstance(part, str) else part["name"] for part in parts)
    return "/".join(names), "" if isinstance(parts[-1], str) else parts[-1]["id"]


def _notion_fields(body: str) -> dict[str, Any]:
    """The fields of a row of a database, which stand below the title of its page."""
    fields: dict[str, Any] = {}
    for line in body.strip().split("\n")[1:]:
        field = _NOTION_FIELD.fullmatch(line.strip())
        if line.strip() and field is None:
            break
        if field:
            name = (
                field[1].casefold()
                if field[1].casefold() in ("tags", "created", "date")
                else field[1]
            )
            fields[name] = _notion_time(field[2]) if name in ("created", "date") else field[2]
    return fields


def _notion_time(written: str) -> str:
    for form in ("%B %d, %Y %I:%M %p", "%B %d, %Y %H:%M", "%B %d, %Y"):
        try:
            return datetime.strptime(written, form).isoformat()
        except ValueError:
            continue
    return written


def _of_org(file: Path, place: str, source: str) -> Note:
    """A note of Org, in Markdown: headings, code and links as that writes them."""
    front: dict[str, Any] = {}
    tags: list[str] = []
    lines: list[str] = []
    in_drawer = False
    for line in source.split("\n"):
        heading, setting = _ORG_HEADING.fullmatch(line), _ORG_LINE.fullmatch(line.strip())
        if line.strip().upper() in (":PROPERTIES:", ":LOGBOOK:"):
            in_drawer = True
        elif in_drawer:
            in_drawer = line.strip().upper() != ":END:"
            match = _ORG_FIELD.fullmatch(line)
            if match and match[1].upper() in ("ID", "ROAM_ALIASES"):
                names = [quoted or word for quoted, word in _ORG_NAME.findall(match[2])]
                front.setdefault("aliases", []).extend(names)
        elif _ORG_CODE.fullmatch(line):
            lines.append("```")
        elif setting and setting[1].lower() in ("title", "date", "filetags"):
            front[setting[1].lower()] = setting[2].strip()
        elif heading:
            tags += heading[3].split(":") if heading[3] else []
            lines.append(f"{'#' * min(len(heading[1]), 6)} {_ORG_LINK.sub(_org_link, heading[2])}")
        else:
            lines.append(_ORG_LINK.sub(_org_link, line))
    tags = [*re.split(r"[:\s]+", front.pop("filetags", "").strip(": ")), *tags]
    front |= {"tags": list(dict.fromkeys(filter(None, tags)))} if any(tags) else {}
    if "date" in front:
        front["date"] = re.sub(r"^[<\[]|[>\]]$|\s+[A-Za-z]{2,3}\.?(?=[\s>\]]|$)", "", front["date"])
    return Note(file, place, front, "\n".join(lines), has_title_line=False)


def _org_link(link: re.Match[str]) -> str:
    kind, target, words = link.groups()
    if kind in ("http", "https", "mailto"):
        return f"[{words or target}]({kind}:{target})"
    if kind == "file":
        return f"[{words or target}](<{target.partition('::')[0]}>)"
    return f"[[{target.lstrip('*')}|{words}]]" if words else f"[[{target.lstrip('*')}]]"


def read_roam(place: Place, job: Job) -> Iterator[Item]:
    """Yield the pages of the JSON of a graph, each a list of its blocks.

    Raises:
        ImportProblem: the file is not JSON; a page has no title, unless it is left out.
    """
    assert isinstance(place, Path)
    notes: list[Note] = []
    for _, document in documents(place, job):
        for number, page in enumerate(document if isinstance(document, list) else [document], 1):
            title = mapping(page).get("title")
            if not isinstance(title, str) or not title.strip():
                problem = f"item {number}: has no text 'title'"
                job.left_out(ImportProblem(place, problem, "export it again"))
                continue
            lines = list(_roam_lines(page.get("children")))
            times = [time(page.get(name)) for name in ("create-time", "edit-time")]
            times += [time(at) for _, at, _ in lines if at]
            names = [uid for _, _, uid in lines if uid]
            notes.append(
                Note(
                    place,
                    title.strip(),
                    {"aliases": names} if names else {},
                    "\n".join(line for line, _, _ in lines),
                    title=title,
                    dated=next(filter(None, times), None),
                    has_title_line=False,
                )
            )
    for item in items_of(notes, job):
        metadata = {n: v for n, v in item["metadata"].items() if n not in ("aliases", "path")}
        yield Item(
            {**item, "metadata": {"imported_from": "roam", **metadata}},
            item.place,
            assumed=item.assumed,
        )


def _roam_lines(blocks: Any) -> Iterator[tuple[str, Any, str]]:
    """The lines of blocks and those in them, each with its time and id."""
    waiting = [(block, 0) for block in blocks[::-1]] if isinstance(blocks, list) else []
    while waiting:
        block, depth = waiting.pop()
        words, children = mapping(block).get("string"), mapping(block).get("children")
        if isinstance(words, str) and words.strip():
            marks = "#" * heading if (heading := block.get("heading")) in (1, 2, 3) else "-"
            line = f"{'  ' * depth}{marks} {words}" if marks == "-" else f"{marks} {words}"
            yield line, block.get("create-time"), str(block.get("uid") or "")
        if isinstance(children, list):
            waiting += [(child, depth + 1) for child in children[::-1]]
