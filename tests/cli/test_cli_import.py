"""The report of import on each item, and its treatment of existing memories."""

from __future__ import annotations

import json
import os
import threading
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from salience import Memory
from salience.cli.importing import sources
from salience.records.limits import STATUSES
from support.imports import put
from support.waiting import HANG_SECONDS

if TYPE_CHECKING:
    from cli.conftest import Run


def lines(*entries: Any) -> str:
    return "".join(json.dumps(each) + "\n" for each in entries)


def ends(id: str) -> set[tuple[str, str]]:
    """The links of a memory, by their types and targets."""
    with Memory("memory.db") as memory:
        return {(link.type, link.target) for link in memory.links(id) if link.source == id}


def test_every_outcome_is_counted(run: Run, tmp_path: Path) -> None:
    put(tmp_path, "same.jsonl", lines(*[{"content": "Ana plays chess."}] * 5))
    ran = run("import", "same.jsonl")
    assert (ran.code, ran.out) == (0, "1 added, 4 duplicate, 0 rejected\n")
    put(tmp_path, "more.jsonl", lines({"content": "Ana plays chess.", "tags": ["games"]}))
    ran = run("import", "more.jsonl", "same.jsonl", "--json")
    assert (ran.json["added"], ran.json["outcomes"]) == (0, {"DUPLICATE": 6})
    [there] = run("list", "--json").json["memories"]
    told = [(each["place"], each["outcome"], each["id"]) for each in ran.json["known"]]
    assert told[:2] == [("line 1", "DUPLICATE", there["id"]), ("line 1", "DUPLICATE", there["id"])]
    assert told[-1][0] == "line 5"


def test_a_rejected_item_is_told_with_its_line(run: Run, tmp_path: Path) -> None:
    put(
        tmp_path,
        "two.jsonl",
        lines({"content": "one"}) + "\n" + lines({"content": "two", "created_at": "03/04/2026"}),
    )
    put(tmp_path, "a.json", [{"content": "three"}, {"content": "four", "importance": 7}])
    put(tmp_path, "b.jsonl", lines({"messages": [{"content": "x", "importance": 7}]}))
    ran = run("import", "two.jsonl", "a.json", "b.jsonl", "--json")
    assert [(each["path"], each["place"]) for each in ran.json["rejected"]] == [
        ("two.jsonl", "line 3"),
        ("a.json", "item 2"),
        ("b.jsonl", "line 1, message 1"),
    ]
    assert "rejected: two.jsonl, line 3: created_at: " in run("import", "two.jsonl").err


def test_what_is_no_more_active_comes_back_as_it_was(run: Run, tmp_path: Path) -> None:
    run("add", "Ana lives in Rome.", "--id", "rome", "--kind", "fact")
    run("add", "Ana lives in Oslo.", "--id", "oslo", "--kind", "fact", "--supersedes", "rome")
    run("add", "The old office was in Mill Road.", "--id", "office")
    run("archive", "office")
    records = run("list", "--json").json["memories"]
    assert len(records) == 3
    # Two of the same words, of which the first is not active, are two memories.
    fallen = {"content": "The key is blue.", "status": "archived"}
    put(tmp_path, "all.jsonl", lines(*records, fallen, {"content": fallen["content"]}))
    other = ("--db", "other.db")
    ran = run("import", "all.jsonl", *other)
    assert (ran.code, ran.out) == (0, "5 added, 0 rejected\n")
    there = {each["id"]: each for each in run("list", "--json", *other).json["memories"]}
    assert {id: there[id]["status"] for id in ("rome", "oslo", "office")} == {
        "rome": "superseded",
        "oslo": "active",
        "office": "archived",
    }
    assert there["rome"]["valid_to"] == next(r for r in records if r["id"] == "rome")["valid_to"]
    assert all("status" not in each["metadata"] for each in there.values())
    assert run("verify", *other).code == 0
    assert run("unarchive", "office", *other).out == "office: active\n"
    chunked = run("import", "all.jsonl", "--db", "third.db", "--mode", "chunks", "--json")
    assert chunked.json["added"] == 2
    assert all(each["reason"].startswith("status: ") for each in chunked.json["rejected"])


@pytest.mark.parametrize("status", sorted({*STATUSES} - {"active"}))
def test_every_status_there_is_comes_back(run: Run, tmp_path: Path, status: str) -> None:
    put(tmp_path, "a.jsonl", lines({"id": "a", "content": "Mend the roof.", "status": status}))
    assert run("import", "a.jsonl").code == 0
    found = run("get", "a", "--json").json
    assert (found["status"], found["metadata"]) == (status, {})


def test_a_status_of_others_is_metadata(run: Run, tmp_path: Path) -> None:
    put(tmp_path, "a.jsonl", lines({"id": "a", "content": "Mend the roof.", "status": "open"}))
    assert run("import", "a.jsonl").code == 0
    found = run("get", "a", "--json").json
    assert (found["status"], found["metadata"]) == ("active", {"status": "open"})


def test_a_memory_of_another_namespace_is_rejected(run: Run, tmp_path: Path) -> None:
    entries = [{"id": name, "content": name, "namespace": name} for name in ("ana", "ben")]
    talk = {"namespace": "ben", "messages": [{"content": "Hello"}]}
    put(tmp_path, "a.jsonl", lines(*entries, talk))
    ran = run("import", "a.jsonl", "--namespace", "ana", "--json")
    assert (ran.code, ran.json["added"]) == (1, 1)
    assert [each["place"] for each in ran.json["rejected"]] == ["line 2", "line 3, message 1"]
    reason = ran.json["rejected"][0]["reason"]
    assert reason.startswith("namespace: is 'ben', but memories go to 'ana'; give ")
    assert run("get", "ben", "--namespace", "ana").code == 1


def test_update_changes_what_changed(run: Run, tmp_path: Path) -> None:
    put(tmp_path, "n/door.md", "The door sticks.")
    put(tmp_path, "n/key.md", "---\ntags: [home]\ncolour: red\n---\nBehind the [[door]].")
    assert run("import", "n").out == "2 added, 0 rejected\n"
    assert "salience import --update" in run("import", "n").err
    os.utime(tmp_path / "n/door.md", (1_700_000_000, 1_700_000_000))  # a copy of the folder
    assert run("import", "n", "--update").out == "0 added, 2 unchanged, 0 rejected\n"
    put(tmp_path, "n/key.md", "---\ntags: [cellar]\n---\nBehind [[new]], left of [[door]].")
    put(tmp_path, "n/new.md", "A curtain.")
    ran = run("import", "n", "--update", "--json")
    assert ran.code == 0
    assert ran.json["outcomes"] == {"ADDED": 1, "UPDATED": 1, "UNCHANGED": 1}
    found = run("get", "key", "--json").json
    assert (found["tags"], found["content"]) == (["cellar"], "Behind [[new]], left of [[door]].")
    assert found["metadata"] == {"path": "key.md"}
    assert run("import", "n", "--update").out == "0 added, 3 unchanged, 0 rejected\n"
    assert run("stats", "--json").json["links"] == 2


def test_an_id_that_exists_is_replaced_or_skipped_if_told(run: Run, tmp_path: Path) -> None:
    entry = {"id": "x", "content": "One", "tags": ["a"]}
    put(tmp_path, "a.jsonl", lines(entry, {"id": "y", "content": "Two", "status": "archived"}))
    assert run("import", "a.jsonl").code == 0
    assert run("import", "a.jsonl").out == "0 added, 2 rejected\n"
    ran = run("import", "a.jsonl", "--on-conflict", "skip")
    assert ran.out == "0 added, 2 skipped, 0 rejected\n"
    put(tmp_path, "a.jsonl", lines({**entry, "content": "New"}, {"id": "y", "content": "Two"}))
    ran = run("import", "a.jsonl", "--on-conflict", "replace")
    assert (ran.code, ran.out) == (0, "0 added, 1 updated, 1 skipped, 0 rejected\n")
    assert run("get", "x", "--json").json["content"] == "New"
    assert run("get", "y", "--json").json["status"] == "archived"
    ran = run("import", "a.jsonl", "--update", "--on-conflict", "skip")
    assert "leave one of them out" in ran.err


@pytest.mark.parametrize("rule", ["replace", "update"])
def test_a_status_that_alone_differs_is_taken(run: Run, tmp_path: Path, rule: str) -> None:
    put(tmp_path, "a.jsonl", lines({"id": "x", "content": "One"}, {"id": "y", "content": "Two"}))
    run("import", "a.jsonl")
    put(tmp_path, "a.jsonl", lines({"id": "x", "content": "One", "status": "archived"}))
    ran = run("import", "a.jsonl", "--on-conflict", rule)
    assert (ran.code, ran.out) == (0, "0 added, 1 updated, 0 rejected\n")
    assert run("get", "x", "--json").json["status"] == "archived"


@pytest.mark.parametrize("rule", ["replace", "update"])
def test_what_a_changed_note_no_longer_has_goes(run: Run, tmp_path: Path, rule: str) -> None:
    long = "\n\n".join(f"## Part {n}\n\n" + f"Word {n}. " * 1_500 for n in range(4))
    front = "---\ntags: [home]\naliases: [cellar]\nsee: '[[Lamp]]'\ntitle: The key\n---\n"
    put(tmp_path, "n/key.md", f"{front}Behind the [[door]], [[Spring]], [it](lamp.md).\n\n{long}")
    for name in ("door", "lamp", "roof"):
        put(tmp_path, f"n/{name}.md", f"About the {name}.")
    run("import", "n")
    run("link", "key", "roof", "--type", "supports")
    assert ends("key") == {
        *(("mentions", n) for n in ("door", "lamp", "spring")),
        ("supports", "roof"),
    }
    assert "key#4" in run("list", "--json").out
    run("add", "It thaws.", "--id", "thaw", "--title", "Spring")  # a pending link leads there
    assert ("mentions", "thaw") in ends("key")
    put(tmp_path, "n/key.md", "Lost.")
    ran = run("import", "n", "--on-conflict", rule)
    assert (ran.code, "4 deleted" in ran.out or "3 deleted" in ran.out) == (0, True)
    assert ends("key") == {("supports", "roof")}
    key = run("get", "key", "--json").json
    assert (key["title"], key["tags"], key["metadata"]) == ("key", [], {"path": "key.md"})
    assert "key#" not in run("list", "--json").out
    assert "no longer mentions thaw" in run("history", "key").out


def test_an_id_is_not_known_while_its_content_differs(run: Run, tmp_path: Path) -> None:
    put(tmp_path, "a.jsonl", lines({"id": "x", "content": "One"}, {"id": "y", "content": "Two"}))
    put(tmp_path, "b.jsonl", lines({"id": "x", "content": "One "}, {"id": "y", "content": "Three"}))
    assert run("import", "a.jsonl").code == 0
    ran = run("import", "b.jsonl", "--on-conflict", "skip")
    assert (ran.code, ran.out) == (1, "0 added, 1 skipped, 1 rejected\n")
    assert "b.jsonl, line 2: y: the id is taken by a memory that says something else" in ran.err
    assert (
        run("import", "b.jsonl", "--update").out == "0 added, 1 updated, 1 unchanged, 0 rejected\n"
    )


def test_an_export_comes_back_whole(run: Run, tmp_path: Path) -> None:
    run("add", "Ana lives in Rome.", "--id", "rome")
    run("update", "rome", "Ana lives in Oslo.")
    run("add", "Ben", "--id", "ben", "--namespace", "other")
    ran = run("export", "one.jsonl")
    assert (ran.code, ran.out) == (0, "1 memories, 0 links, 2 events\n")
    ran = run("export", "--all", "--vectors")
    assert ran.err == "2 namespaces, 2 memories, 0 links, 3 events\n"
    put(tmp_path, "all.jsonl", ran.out)
    ran = run("import", "one.jsonl", "--db", "new.db")
    assert (ran.code, ran.out) == (0, "1 memories, 0 links, 2 events\n")
    assert run("export", "--db", "new.db").out == (tmp_path / "one.jsonl").read_text("utf-8")
    ran = run(
        "import",
        "-",
        "--all",
        "--db",
        "all.db",
        "--json",
        stdin=run("export", "--all").out.encode(),
    )
    assert (ran.json["namespaces"], ran.json["memories"]) == (["default", "other"], 2)
    for arguments, said in (
        (["one.jsonl"], "'default' holds 1 memories already"),
        (["all.jsonl", "--db", "3.db"], "holds 2 namespaces, not one"),
        (["one.jsonl", "--update"], "is an export; import it alone"),
        (["one.jsonl", "all.jsonl"], "is an export; import it alone"),
    ):
        ran = run("import", *arguments)
        assert ran.code in (2, 3)
        assert said in ran.err
    put(tmp_path, "cut.jsonl", (tmp_path / "one.jsonl").read_text("utf-8")[:150])
    ran = run("import", "cut.jsonl", "--db", "4.db")
    assert (ran.code, "cut.jsonl, line 3: line: is not JSON" in ran.err) == (2, True)
    assert not (tmp_path / "4.db").exists()


def test_a_listing_is_imported_as_it_is_printed(run: Run, tmp_path: Path) -> None:
    run("add", "Ana lives in Rome.", "--id", "rome", "--tag", "x", "--metadata", '{"a": 1}')
    run("add", "Ben", "--id", "ben")
    printed = run("list", "--json")
    ran = run("import", "-", "--db", "new.db", stdin=printed.out.encode())
    assert (ran.code, ran.out) == (0, "2 added, 0 rejected\n")
    copied = run("get", "rome", "--json", "--db", "new.db").json
    assert (copied["tags"], copied["metadata"]) == (["x"], {"a": 1})
    put(tmp_path, "list.json", printed.json)
    assert run("import", "list.json", "--db", "other.db").out == "2 added, 0 rejected\n"


def test_update_of_every_format(run: Run, tmp_path: Path) -> None:
    said = {"id": "m", "author": {"role": "user"}, "content": {"parts": ["Hi"]}, "create_time": 1.7}
    put(tmp_path, "conversations.json", [{"mapping": {"a": {"message": said}}}])
    put(
        tmp_path, "c.json", {"memories": [{"id": "h", "text": "Hello", "created_at": "2026-01-01"}]}
    )
    entry = {"id": "x", "content": "One", "importance": 0.1, "tags": ["b", "a"], "mood": "calm"}
    put(tmp_path, "a.jsonl", lines(entry))
    paths = ("conversations.json", "c.json", "a.jsonl")
    assert run("import", *paths).out == "3 added, 0 rejected\n"
    assert run("import", *paths, "--update").out == "0 added, 3 unchanged, 0 rejected\n"
    said["content"] = {"parts": ["Hi there"]}
    put(tmp_path, "conversations.json", [{"mapping": {"a": {"message": said}}}])
    put(tmp_path, "c.json", {"memories": [{"id": "h", "text": "Ho", "created_at": "2026-01-01"}]})
    wrong = {"id": "x", "content": "One", "importance": 7}
    put(tmp_path, "a.jsonl", lines({**entry, "content": "Two"}, wrong, {"id": "y", "content": "Z"}))
    ran = run("import", *paths, "--update", "--json")
    assert ran.json["outcomes"] == {"UPDATED": 3, "ADDED": 1, "REJECTED": 1}
    assert [(one["place"], one["id"]) for one in ran.json["rejected"]] == [("line 2", "x")]
    assert [run("get", id, "--json").json["content"] for id in ("m", "h", "x")] == [
        "Hi there",
        "Ho",
        "Two",
    ]
    assert run("import", *paths, "--update", "--mode", "chunks").code == 2


def test_the_last_of_an_id_counts_with_update(run: Run, tmp_path: Path) -> None:
    put(tmp_path, "a.jsonl", lines(*({"id": "x", "content": text} for text in ("a", "b", "c"))))
    assert run("import", "a.jsonl", "--update").out == "1 added, 2 updated, 0 rejected\n"
    assert run("get", "x", "--json").json["content"] == "c"


@pytest.mark.parametrize("id", ["", " ", 7, "x" * 600, "\udcff", None, ["x"]])
def test_an_id_that_is_none_is_rejected_with_update_too(
    run: Run, tmp_path: Path, id: object
) -> None:
    put(tmp_path, "a.jsonl", lines({"content": "one"}, {"id": id, "content": "two"}))
    plain = run("import", "a.jsonl", "--db", "one.db", "--json").json
    assert run("import", "a.jsonl", "--update", "--json").json == plain


def test_a_rejected_side_is_told_with_its_line(run: Run, tmp_path: Path) -> None:
    turn = {"content": "Hi", "session_id": "s", "speaker": "user", "importance": 7}
    put(tmp_path, "a.jsonl", lines({"content": "one"}, turn))
    ran = run("import", "a.jsonl", "--mode", "sides", "--json")
    assert [each["place"] for each in ran.json["rejected"]] == ["line 2"]


def test_a_link_of_a_changed_memory_to_none_is_told(run: Run, tmp_path: Path) -> None:
    put(tmp_path, "n/a.md", "Alone.")
    run("import", "n")
    put(tmp_path, "n/a.md", "See [[Nowhere]].")
    assert "pending: a links to 'nowhere'" in run("import", "n", "--update").err
    run("add", "It is.", "--id", "other", "--title", "Nowhere")
    assert ends("a") == {("mentions", "other")}
    put(tmp_path, "n/nowhere.md", "Here.")
    assert "pending" not in run("import", "n", "--update").err
    assert ends("a") == {("mentions", "nowhere")}


def test_notes_that_cannot_be_read_are_all_told_and_can_be_left_out(
    run: Run, tmp_path: Path
) -> None:
    put(tmp_path, "n/good.md", "Fine.")
    put(tmp_path, "n/tpl.md", "---\n{{template}}: x\n---\nbody")
    put(tmp_path, "n/colon.md", "---\ntitle: T: with colon\n---\nbody")
    put(tmp_path, "n/month.md", "---\ntags: [a]\ncreated: 2026-13-45\n---\nbody")
    ran = run("import", "n", "--strict")
    assert (ran.code, ran.out) == (2, "")
    assert all(name in ran.err for name in ("tpl.md, line", "colon.md, line 2", "month.md, line 3"))
    assert not (tmp_path / "memory.db").exists()
    ran = run("import", "n", "--db", "other.db")
    assert (ran.code, ran.out) == (1, "1 added, 3 rejected\n")
    assert "leave one of them out" in run("import", "n", "--strict", "--lenient").err
    put(tmp_path, "n/good.md", "---\n{{x}}: y\n---\n")
    assert run("import", "n", "--lenient", "--db", "third.db").code == 1  # nothing is kept
    put(tmp_path, "n/good.md", "Fine.")
    ran = run("import", "n", "--lenient", "--json")
    assert (ran.code, ran.json["added"]) == (0, 1)
    told = {each["path"]: (each["place"], each["reason"]) for each in ran.json["rejected"]}
    assert set(told) == {f"n/{name}.md" for name in ("tpl", "colon", "month")}
    assert told["n/month.md"][0] == "line 3"
    assert "2026-13-45" in told["n/month.md"][1]


def test_the_formats_are_listed_with_what_they_are(run: Run) -> None:
    listed = run("import", "--formats")
    assert listed.code == 0
    assert all(line.count("  ") for line in listed.out.splitlines())
    named = run("import", "--formats", "--json").json
    assert {"markdown", "chatgpt", "claude-ai", "whatsapp", "csv", "mem0"} <= set(named)
    assert all(named.values())
    assert "paths: are missing" in run("import").err


def test_columns_of_a_table_are_named(run: Run, tmp_path: Path) -> None:
    put(tmp_path, "a.csv", "Wer,Was\nAna,The kiln is hot.\n")
    assert "--map content=COLUMN" in run("import", "a.csv").err
    assert run("import", "a.csv", "--map", "content=Was", "--map", "speaker=Wer").code == 0
    [record] = run("list", "--json").json["memories"]
    assert (record["content"], record["speaker"]) == ("The kiln is hot.", "Ana")
    assert "write FIELD=COLUMN" in run("import", "a.csv", "--map", "Was").err


def test_a_contradicting_fact_is_told_with_the_command_that_settles_it(run: Run) -> None:
    run("add", "My favourite colour is blue.", "--kind", "fact", "--id", "an old one")
    ran = run("add", "My favourite colour is green.", "--kind", "fact", "--id", "new")
    assert (ran.code, ran.out) == (0, "new\n")
    assert "CONFLICTS an old one it contradicts: My favourite colour is blue." in ran.err
    assert "to settle it: salience supersede 'an old one' new" in ran.err
    assert run("supersede", "an old one", "new").code == 0
    ran = run("add", "My favourite colour is red.", "--kind", "fact", "--id", "newer", "--json")
    [item] = ran.json["items"]
    assert (item["outcome"], item["match"]) == ("CONFLICTS", "new")
    assert item["remedy"] == 'memory.supersede("new", "newer")'


def test_blank_notes_are_counted_and_listed(run: Run, tmp_path: Path) -> None:
    put(tmp_path, "n/2026-01-10.md", "Walked along the river.")
    put(tmp_path, "n/2026-01-11.md", " \n")
    assert run("import", "n").out == "1 added, 1 blank, 0 rejected\n"
    assert run("get", "2026-01-10", "--json").json["created_at"] == "2026-01-10T00:00:00Z"
    ran = run("import", "n", "--update", "--json")
    assert (ran.json["blank"], ran.json["outcomes"]) == (["2026-01-11.md"], {"UNCHANGED": 1})


def test_broken_lines_are_told_and_can_be_left_out(run: Run, tmp_path: Path) -> None:
    source = b'{"content": "One"}\n{"content": \n["Two"]\n{"content": "Three"}\n'
    (tmp_path / "n.jsonl").write_bytes(source)
    refused = run("import", "n.jsonl")
    assert (refused.code, refused.out) == (2, "")
    assert "n.jsonl, line 2: not JSON" in refused.err
    ran = run("import", "n.jsonl", "--lenient", "--json")
    assert (ran.code, ran.json["added"]) == (0, 2)
    told = [(each["path"], each["place"]) for each in ran.json["rejected"]]
    assert told == [("n.jsonl", "line 2"), ("n.jsonl", "line 3")]
    ran = run("import", "-", "--lenient", "--namespace", "other", stdin=source)
    assert (ran.code, ran.out) == (0, "2 added, 2 rejected\n")
    assert "rejected: stdin, line 2: not JSON" in ran.err
    (tmp_path / "n.json").write_text('[{"content": "Four"}, 5]', encoding="utf-8")
    ran = run("import", "n.json", "--lenient")
    assert (ran.code, ran.out) == (0, "1 added, 1 rejected\n")
    assert "item 2: not a JSON object but int" in ran.err


def test_stdin_and_pipes_are_read(run: Run, tmp_path: Path) -> None:
    source = lines({"content": "One"}, {"content": " "}).encode()
    ran = run("import", "-", stdin=source)
    assert (ran.code, ran.out) == (1, "1 added, 1 rejected\n")
    assert "rejected: -, line 2: stdin:2: content: is missing" in ran.err
    assert "salience: stdin, line 1: not JSON" in run("import", "-", stdin=b"{broken").err
    empty = run("import", "-", stdin=b"")
    assert (empty.code, empty.out) == (1, "0 added, 1 rejected\n")
    assert "rejected: stdin: nothing in this file was read; it was taken for jsonl" in empty.err
    talk = json.dumps({"memories": [{"text": "Hello"}]}).encode()
    assert run("import", "-", stdin=talk).out == "1 added, 0 rejected\n"
    assert "check the path" in run("import", "x" * 5_000).err
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(lines({"content": "Two"}).encode(),))
    writer.start()
    ran = run("import", "pipe")
    writer.join(HANG_SECONDS)
    assert ran.out == "1 added, 0 rejected\n"


def test_a_pipe_that_nobody_writes_to_is_not_waited_for(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "_WAIT_SECONDS", 0.05)
    for name in ("pipe", "pipe.json", "m.db-wal"):
        os.mkfifo(tmp_path / name)
    assert "is a pipe that nobody writes to" in run("import", "pipe").err
    assert "pipe: is not a regular file" in run("--db", "pipe", "stats").err
    assert "m.db-wal: is not a regular file" in run("--db", "m.db", "add", "x").err
    run("--db", "o.db", "add", "One")
    for command in ("search x --profile pipe.json", "eval --log pipe", "erased --apply pipe"):
        assert "no regular file" in run("--db", "o.db", *command.split()).err


def test_a_bad_part_of_a_zip_or_a_mailbox_is_told_and_takes_no_other_along(
    run: Run, tmp_path: Path
) -> None:
    with zipfile.ZipFile(tmp_path / "notes.zip", "w") as archive:
        for name in ("good.md", "bad.md"):
            archive.writestr(name, f"the text of {name}")
    path = tmp_path / "notes.zip"
    path.write_bytes(path.read_bytes().replace(b"the text of bad", b"another text of", 1))
    mail = "From a@b Mon Jan  1 00:00:00 2024\nFrom: a@b\nSubject: s\n"
    deep = "".join(
        f"Content-Type: multipart/mixed; boundary=B{n}\n\n--B{n}\n" for n in range(1_000)
    )
    (tmp_path / "all.mbox").write_text(f"{mail}\none mail\n\n{mail}{deep}\n")
    for name, bad in (("notes.zip", "bad.md cannot be unpacked"), ("all.mbox", "message 2")):
        assert bad in run("import", "--strict", name).err
        ran = run("import", name)
        assert (ran.code, ran.out) == (1, "1 added, 1 rejected\n")
        assert bad in ran.err


def test_an_address_is_read_by_its_format_alone(run: Run) -> None:
    ran = run("import", "postgresql://ana:secret@127.0.0.1:1/x")
    assert ran.code == 2
    assert "postgresql://127.0.0.1:1/x: is the address of a server" in ran.err
    ran = run("import", "postgresql://ana:secret@127.0.0.1:1/x", "--format", "langgraph")
    assert ran.code == 2
    assert "cannot be read" in ran.err
    assert "secret" not in ran.err + ran.out


def test_notes_and_mem0_are_written_and_read(run: Run, tmp_path: Path) -> None:
    run("add", "Ana plays chess.", "--id", "chess", "--title", "Games", "--tag", "play")
    assert run("export", "vault", "--format", "markdown").out == "1 memories\n"
    assert run("export", "mem0.json", "--format", "mem0", "--json").json == {"memories": 1}
    for source in ("vault", "mem0.json"):
        other = ("--db", f"{source}.db")
        assert run("import", source, *other).out == "1 added, 0 rejected\n"
        [record] = run("list", "--json", *other).json["memories"]
        assert (record["id"], record["tags"]) == ("chess", ["play"])
    assert "no such option" in run("export", "-", "--format", "mem0").err
    assert "is there already" in run("export", "vault", "--format", "markdown").err
