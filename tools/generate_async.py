"""Write the modules for asyncio out of the text of their synchronous sources.

    python tools/generate_async.py            write them
    python tools/generate_async.py --check    fail if one is not what its source gives

Classes that `Twin.names` renames are copied, and so are functions that come to await something;
everything else at the top of a source is imported from it. A call is awaited if its function is in
`Twin.awaited`, and so is, in turn, a call of a function that awaits. Two comments in a source say
what no rule can:

    value = one()  # sync only              leaves the line out
    # async: value = await other()          puts the line in
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "salience"


@dataclass(frozen=True)
class Twin:
    """A module to generate: its sources in the package, and what differs in it."""

    sources: tuple[str, ...]
    docstring: str
    names: Mapping[str, str]  # words of the source, and those to write instead
    awaited: frozenset[str]  # functions as they are called in the source, such as "self._run"
    threaded: frozenset[str] = frozenset()  # those called in a thread, through `in_thread`
    entered: frozenset[str] = frozenset()  # those that make a context manager for `async with`


TWINS = {
    "display/async_function_calls.py": Twin(
        ("display/function_calls.py",),
        "`AsyncTools`: the tools of an `AsyncMemory`, whose calls are awaited.",
        {"Tools": "AsyncTools"},
        awaited=frozenset(
            {f"self._memory.{name}" for name in ("search", "add", "get", "update", "delete")}
        ),
    ),
    "remote/async_transport.py": Twin(
        ("remote/transport.py",),
        "`AsyncTransport`: requests over HTTP, awaited.",
        {
            "Transport": "AsyncTransport",
            "httpx.Client": "httpx.AsyncClient",
            "response.read": "response.aread",
            "time.sleep": "asyncio.sleep",
        },
        awaited=frozenset({"response.read", "client.request", "time.sleep"}),
        entered=frozenset({"client.stream"}),
    ),
    "remote/async_memory.py": Twin(
        ("remote/memory.py",),
        "`AsyncRemoteMemory`: the methods of `AsyncMemory`, answered by a server over HTTP.",
        {
            "Memory": "AsyncMemory",
            "RemoteMemory": "AsyncRemoteMemory",
            "RemoteIteration": "AsyncRemoteIteration",
            "Iteration": "AsyncIteration",
            "_method": "_method",
            "_with_operations": "_with_operations",
            "__enter__": "__aenter__",
            "__next__": "__anext__",
            "StopIteration": "StopAsyncIteration",
        },
        awaited=frozenset(
            {
                "self._call",
                "self._memory.get_all",
                "self._transport.close",
                "self._transport.download",
                "self._transport.send",
                "self.pending_links",
            }
        ),
    ),
}


class Awaiting(ast.NodeVisitor):
    """The edits that make a source await: (start, end, text), in characters."""

    def __init__(self, source: str, twin: Twin, awaited: set[str]) -> None:
        self.source, self.twin, self.awaited = source, twin, awaited
        self.lines = source.splitlines(keepends=True)
        self.edits: list[tuple[int, int, str]] = []
        self.functions: list[ast.FunctionDef] = []
        self.asynchronous: set[str] = {"__enter__", "__exit__"}

    def insert(self, node: ast.expr | ast.stmt, text: str, *, after: bool = False) -> int:
        """Add text before or after a node; the character where it goes."""
        row, column = node.lineno - 1, node.col_offset
        if after:
            row, column = (node.end_lineno or 0) - 1, node.end_col_offset or 0
        at = sum(map(len, self.lines[:row])) + len(self.lines[row].encode()[:column].decode())
        self.edits.append((at, at, text))
        return at

    def called(self, node: ast.expr) -> str:
        """The function of a call as it is written, "" for another expression."""
        call = ast.get_source_segment(self.source, node.func) if isinstance(node, ast.Call) else ""
        return call or ""

    def awaits(self) -> None:
        """Note that the function that is being read awaits something."""
        function = self.functions[-1]
        first = function.args.args[0].arg if function.args.args else ""
        owner = f"{first}." if first in ("self", "cls") else ""
        self.asynchronous.add(function.name)
        self.awaited.add(owner + function.name)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.functions.append(node)
        self.generic_visit(node)
        self.functions.pop()
        if node.name in self.asynchronous:
            self.insert(node, "async ")

    def visit_With(self, node: ast.With) -> None:
        if any(self.called(item.context_expr) in self.twin.entered for item in node.items):
            self.insert(node, "async ")
            self.awaits()
        self.generic_visit(node)

    def visit_Await(self, node: ast.Await) -> None:
        self.awaits()
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        function = self.called(node)
        if function in self.twin.threaded:
            self.awaits()
            self.insert(node, "(await in_thread(")
            at = self.insert(node.func, "", after=True)
            bracket = ", " if node.args or node.keywords else ""
            self.edits.append((at, at + 1, bracket))
            self.insert(node, ")", after=True)
        elif function in self.awaited:
            self.awaits()
            self.insert(node, "(await ")
            self.insert(node, ")", after=True)


def awaiting(source: str, twin: Twin, awaited: set[str]) -> tuple[str, set[str]]:
    """A source with its calls awaited, and the functions that await; `awaited` grows by them."""
    while True:
        edits, before = Awaiting(source, twin, awaited), len(awaited)
        edits.visit(ast.parse(source))
        if len(awaited) == before:
            break
    for start, end, text in sorted(edits.edits, key=lambda edit: edit[0], reverse=True):
        source = source[:start] + text + source[end:]
    return source, edits.asynchronous


def statements(path: str, twin: Twin, awaited: set[str]) -> Iterator[tuple[str, str]]:
    """The statements at the top of a source, with the comments before each, as (import, other)."""
    text = (PACKAGE / path).read_text("utf-8")
    text = re.sub(r"^.*# sync only\n", "", text.replace("# async: ", ""), flags=re.MULTILINE)
    text, asynchronous = awaiting(text, twin, awaited)
    sources = {dotted(source) for source in twin.sources}
    lines, end = text.splitlines(keepends=True), 0
    for node in ast.parse(text).body:
        statement, end = "".join(lines[end : node.end_lineno]), node.end_lineno or 0
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", node)
        name = getattr(target, "name", getattr(target, "id", None))
        if isinstance(node, ast.ImportFrom) and node.module in sources:
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield statement, ""
        elif name in twin.names or name in asynchronous:
            yield "", statement
        elif name is not None:
            yield f"from {dotted(path)} import {name}\n", ""


def dotted(path: str) -> str:
    """The name of the module in a file of the package."""
    return "salience." + path.removesuffix(".py").replace("/", ".")


def generated(target: str) -> str:
    """The text of a generated module."""
    twin, awaited = TWINS[target], set(TWINS[target].awaited)
    pairs = [pair for path in twin.sources for pair in statements(path, twin, awaited)]
    imports, body = ("\n".join(part) for part in zip(*pairs, strict=True))
    words = "|".join(map(re.escape, sorted(twin.names, key=len, reverse=True)))
    text = re.sub(
        rf"(?<!\w)({words})(?!\w)",
        lambda match: twin.names[match[0]],
        f"{imports}\nfrom salience.retrieval.plan import in_thread\n{body}",
    )
    text = (
        f'"""{twin.docstring}"""\n\n# Generated by tools/generate_async.py from:\n# '
        + "\n# ".join(twin.sources)
        + f"\n\nfrom __future__ import annotations\n{text}"
    )
    text = re.sub(r"^( +)\((await .*)\)$", r"\1\2", text, flags=re.MULTILINE)  # statements
    ruff = (sys.executable, "-m", "ruff")
    for command in (("check", "--fix", "-q", "--select", "I,F401,UP034"), ("format", "-q")):
        text = subprocess.run(
            [*ruff, *command, "--stdin-filename", PACKAGE / target, "-"],
            input=text,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout
    return text


def main(arguments: list[str]) -> int:
    """Write every generated module, or with --check compare it; how many differ."""
    different = 0
    for target in TWINS:
        path, text = PACKAGE / target, generated(target)
        if "--check" not in arguments:
            path.write_text(text, "utf-8")
        elif path.read_text("utf-8") != text:
            different += 1
            print(f"{target} is not what its source gives; run python tools/generate_async.py")
    return different


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
