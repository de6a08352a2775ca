"""The site is built whole: no broken link, nothing from elsewhere, all pages, plots, reference."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from salience.ranking.profiles import BUILT_IN
from support.pages import PAGES, ROOT

_LOADED = re.compile(r"<(?:script|img|iframe|source)\b[^>]*\bsrc=[\"']?([^\"' >]+)")
_STYLES = re.compile(r"<link\b[^>]*\brel=[\"']?(?:stylesheet|preconnect|icon)[^>]*>")
_TARGET = re.compile(r"href=[\"']?([^\"' >]+)")
_OWN = re.compile(r"<(?:a|img)\b[^>]*(?:href|src)=\"([^\"#?:]+)(?=[\"#?])")
_ELSEWHERE = re.compile(r"^(?:https?:)?//")
_STYLED = re.compile(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//")


@pytest.mark.deep
def test_the_site_is_whole(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="the extra 'docs' is not installed")
    site = tmp_path / "site"
    ran = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr  # a link that is broken, for one
    # One test, as each process of a run in parallel would build its own.
    pages = {path.relative_to(site): path.read_text() for path in site.rglob("*.html")}
    _has_every_page(pages)
    for path, html in pages.items():
        _loads_nothing_from_elsewhere(path, html)
    assert not any(_STYLED.search(style.read_text()) for style in site.rglob("*.css"))
    _leads_to_files(site, pages)
    _has_plots(site, pages[Path("profiles.html")])
    _has_the_reference(pages[Path("reference/memory.html")])
    assert "salience mcp install" in pages[Path("reference/commands.html")]


def _has_every_page(pages: dict[Path, str]) -> None:
    """Each page is built, and in the navigation."""
    for name in PAGES:
        page = name.removeprefix("docs/").removesuffix(".md")
        page = re.sub(r"(^|/)README$", r"\1index", page)
        assert Path(f"{page}.html") in pages, name
        assert f'href="{page}.html"' in pages[Path("index.html")], name


def _loads_nothing_from_elsewhere(path: Path, html: str) -> None:
    loaded = [*_LOADED.findall(html), *_TARGET.findall(" ".join(_STYLES.findall(html)))]
    assert not [source for source in loaded if _ELSEWHERE.match(source)], path
    assert 'class="mermaid"' not in html, path  # its script would come from elsewhere


def _leads_to_files(site: Path, pages: dict[Path, str]) -> None:
    for path, html in pages.items():
        if path.name != "404.html":  # whose links are from the root of a server
            for target in _OWN.findall(html):
                assert (site / path.parent / target).exists(), f"{path}: {target}"


def _has_plots(site: Path, profiles: str) -> None:
    for name in BUILT_IN:
        if name.startswith("vitality."):
            continue  # the page has their formulas in a table
        assert "<svg" in (site / "plots" / f"{name}.svg").read_text()
        assert f'src="plots/{name}.svg"' in profiles


def _has_the_reference(reference: str) -> None:
    """The methods of a memory with their options."""
    for method in ("search", "add", "explain", "get_context", "export"):
        assert f'id="salience.engine.memory.Memory.{method}"' in reference
    assert "{options}" not in reference
    assert "__enter__" not in reference
