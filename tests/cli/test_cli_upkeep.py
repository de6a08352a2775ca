"""Commands of upkeep against a real SQLite file."""

from __future__ import annotations

import json
import shlex
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from salience import Memory
from salience.cli.maintain import mending
from salience.cli.settings import Settings
from salience.lifecycle.audit import Finding

if TYPE_CHECKING:
    from cli.conftest import Run

OLD = datetime(2020, 1, 1, tzinfo=timezone.utc)


@pytest.fixture
def old(run: Run, tmp_path: Path) -> Run:
    """`run` where memory.db holds facts from long ago, three of which say the same."""
    said = (
        "volcano teapot glacier violin mortgage penguin algebra sandwich lighthouse carburettor "
        "orchid parliament trombone cactus passport thunder origami submarine cheese"
    ).split()
    said += ["Ben takes the train to work."] * 3
    items = [{"id": f"m{i:02}", "content": text, "kind": "fact"} for i, text in enumerate(said)]
    with Memory.open(tmp_path / "memory.db", clock=lambda: OLD) as memory:
        memory.add_many(items)
    return run


def status(run: Run, id: str) -> str:
    return str(run("get", id, "--json").json["status"])


def test_prune_previews_then_moves_then_is_undone(old: Run) -> None:
    seen = old("prune", "--cap", "2")
    assert seen.code == 0
    assert "m00" in seen.out
    assert "never used; written" in seen.out
    assert "2 would be archived" in seen.out
    assert "22 have faded" in seen.err
    assert status(old, "m00") == "active"
    done = old("prune", "--cap", "2", "--apply", "--json").json
    assert [one["id"] for one in done["candidates"]] == ["m00", "m01"]
    assert done["left"] == 20
    assert status(old, "m00") == "archived"
    undone = old("undo", done["run"])
    assert (undone.code, undone.out) == (0, "2 restored, 0 erased\n")
    assert status(old, "m00") == "active"
    again = old("undo", done["run"])
    assert again.code == 1
    assert "status is 'active' now" in again.err
    assert old("undo", "prune-99999").code == 1
    assert old("prune", "--cap", "-1").code == 2


def test_archive_and_restore(old: Run) -> None:
    assert "to undo it: salience undo archive-" in old("archive", "m00", "m01").out
    assert old("archive", "m00").out == "all of them are archived already\n"
    assert old("unarchive", "m00", "--json").json == {"restored": {"m00": "active"}}
    assert old("unarchive", "m00").code == 2
    assert old("archive", "nobody").code == 1


def test_consolidate_previews_then_merges(old: Run, tmp_path: Path) -> None:
    seen = old("consolidate")
    assert "3 would be merged" in seen.out
    assert "Ben takes the train to work." in seen.out
    (tmp_path / "mine.py").write_text("def one(members):\n    return f'{len(members)} say so'\n")
    done = old("consolidate", "--apply", "--summarise", "mine:one", "--json").json
    assert done["merged"] == 3
    [made] = [one["id"] for one in done["clusters"] if one["content"] == "3 say so"]
    assert old("get", made, "--json").json["content"] == "3 say so"
    assert old("undo", done["run"]).out == "3 restored, 1 erased\n"
    wrong = old("consolidate", "--summarise", "nowhere:nothing")
    assert (wrong.code, wrong.out) == (2, "")
    assert "package.module:function" in wrong.err


def test_maintain_says_what_it_did(old: Run) -> None:
    old(
        "add", "Renew the passport.", "--kind", "task", "--created-at", "2020-01-01", "--id", "task"
    )
    looked = old("maintain", "--dry-run", "--json").json
    assert looked["dry_run"] is True
    assert status(old, "task") == "active"
    done = old("maintain", "--step", "prune", "--step", "consolidate")
    assert done.code == 0
    assert "prune: 10; to undo it: salience undo prune-" in done.out
    assert "consolidate: 3; to undo it" in done.out
    assert old("maintain", "--step", "dance").code == 2


def test_audit_names_what_mends(old: Run) -> None:
    old("add", "TODO", "--id", "todo")
    told = old("audit")
    assert told.code == 0
    assert "salience archive todo" in told.out
    found = {one["name"]: one for one in old("audit", "--json").json["findings"]}
    assert found["duplicates"]["count"] == 2
    bodies = [action["body"] for action in found["duplicates"]["actions"]]
    assert bodies == [{"ids": ["m20", "m21"]}]
    assert found["junk"]["rate"] == 1 / 23
    assert old("audit", "--mend", "dormant").code == 2


@pytest.mark.one_in(2)
@pytest.mark.parametrize("count", [2, 5])
def test_each_command_that_an_audit_names_mends_its_finding(
    run: Run, tmp_path: Path, count: int
) -> None:
    path = tmp_path / "a folder" / "memory.db"
    path.parent.mkdir()
    place = ("--db", str(path), "--namespace", "it's mine")
    with Memory.open(path, namespace="it's mine", clock=lambda: OLD) as memory:
        memory.add_many({"content": "An old note.", "id": f"-old {i}"} for i in range(count))
    with Memory.open(path, namespace="it's mine", embedder=None) as memory:
        memory.add("Nobody has made a vector of this.")
    with Memory.open(path, namespace="it's mine") as memory:
        memory.add_many(["TODO", "null", "!!", "??", "..."][:count], dedup=False)
        memory.add_many([{"content": "The same again."}] * (count + 1), dedup=False)
        for i in range(count):
            links = [{"target": f"nothing {i}", "type": "mentions"}]
            memory.add(f"It leads to nothing {i}.", links=links)
            memory.add(f"It lost its successor {i}.", id=f"lost {i}")
            memory.supersede(f"lost {i}", memory.add(f"It goes {i}.", id=f"gone {i}").id)
            memory.delete(f"gone {i}")
        for one in ("Ana", "Ben"):
            memory.add(f"The meeting is at {one}'s.", id=f"at {one}", dedup=False)
        memory.link("at Ana", "at Ben", "contradicts")

    def findings() -> dict[str, Finding]:
        found = run(*place, "audit", "--json").json["findings"]
        return {one["name"]: Finding.from_dict(one) for one in found}

    settings = Settings(db=str(path), db_is_option=True, namespace="it's mine")

    names = [name for name, finding in findings().items() if finding.count]
    assert names == ["duplicates", "junk", "dormant", "contradicted", "orphaned", "unembedded"]
    for name in names:
        remedy = settings.named(mending(findings()[name]))
        for command in remedy.split(" && "):
            program, *arguments = shlex.split(command)
            assert (program, run(*arguments).code) == ("salience", 0), command
        assert findings()[name].count == 0, remedy


def test_report_counts(old: Run) -> None:
    told = old("report", "--points", "3", "--ahead", "10", "--json").json
    assert len(told["times"]) == 3
    assert told["counts"]["dormant"] == [0, 22, 22]
    shown = old("report", "--points", "3")
    assert "22" in shown.out
    assert "if no memory is used again" in shown.err


@pytest.mark.deep
def test_report_draws(old: Run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    made = old("report", "--out", str(tmp_path / "zones.png"))
    assert made.code == 0
    assert made.out.splitlines()[-1] == str(tmp_path / "zones.png")
    assert (tmp_path / "zones.png").stat().st_size > 10_000
    assert old("report", "--out", "year.txt").code == 2


def test_links_that_lead_nowhere_are_told(run: Run, tmp_path: Path) -> None:
    links = json.dumps([{"target": "Atlas", "type": "mentions"}])
    added = run("add", "See there.", "--id", "a", "--links", links)
    assert added.code == 0
    assert "pending: a links to 'Atlas', which does not exist yet" in added.err
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "one.md").write_text("See [[Two]] and [[Three]].")
    (tmp_path / "notes" / "two.md").write_text("# Two\n\nBack to [[one]].")
    told = run("import", str(tmp_path / "notes"), "--batch", "1")
    assert "one links to 'three'" in told.err
    assert "'two'" not in told.err
    assert "pending" not in run("add", "It is.", "--title", "Three", "--id", "t").err
    assert run("audit", "--json").json["findings"][4]["count"] == 1  # Atlas is still awaited
    assert "pending" not in run("add", "Maps.", "--title", "Atlas").err
    assert run("audit", "--json").json["findings"][4]["count"] == 0
