"""The examples of the documentation pass a strict type checker, page by page."""

from pathlib import Path

import pytest
from mypy import api

from support.pages import FRAMEWORK_PAGES, PAGES, blocks


@pytest.mark.deep
def test_the_examples_pass_the_type_checker(tmp_path: Path) -> None:
    files = []
    for name in sorted(set(PAGES) - set(FRAMEWORK_PAGES)):
        page = ""
        for block in blocks(name):
            if block.language == "python" and block.mark is None:
                page += "\n" * (block.line - page.count("\n")) + block.source
        if page:
            file = tmp_path / (name.removesuffix(".md").replace("/", "_").replace("-", "_") + ".py")
            file.write_text(page, encoding="utf-8")
            files.append(str(file))
    report, problems, _ = api.run(["--strict", "--no-pretty", *files])
    errors = [line.replace(str(tmp_path), "") for line in report.splitlines() if ": error" in line]
    assert (errors, problems) == ([], "")
