"""Every command against a real SQLite file: what it prints, and with which exit code."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from salience import Memory
from salience.cli import add
from salience.cli.settings import Settings
from salience.errors import StoreError
from salience.testing import WordHashEmbedder

if TYPE_CHECKING:
    from cli.conftest import Run


def test_add_then_get_keeps_every_field(run: Run) -> None:
    details = {
        "speaker": "Ana",
        "session-id": "s1",
        "agent-id": "a1",
        "user-id": "u1",
        "importance": "0.5",
        "kind": "fact",
        "title": "Tea",
        "created-at": "2026-05-01T10:00:00Z",
        "id": "tea",
        "metadata": '{"cups": 2}',
    }
    options = [word for name, value in details.items() for word in (f"--{name}", value)]
    added = run("add", "Ana drinks tea.", *options, "--tag", "home", "--tag", "drink", "--json")
    [item] = added.json["items"]
    assert (added.json["id"], item["id"], item["outcome"]) == ("tea", "tea", "ADDED")
    found = run("get", "tea", "--json").json
    assert found["content"] == "Ana drinks tea."
    assert found["tags"] == ["home", "drink"]
    assert found["metadata"] == {"cups": 2}
    assert found["importance"] == 0.5
    for name in ("speaker", "session-id", "agent-id", "user-id", "kind", "title", "created-at"):
        assert found[name.replace("-", "_")] == details[name]


def test_add_reads_stdin_and_prints_the_id(run: Run) -> None:
    added = run("add", "-", stdin="\N{BYTE ORDER MARK}Grüße aus Graz\n".encode())
    assert added.code == 0
    assert run("get", added.out.strip(), "--json").json["content"] == "Grüße aus Graz"


def test_links_and_vectors_are_taken_as_json(notes: Run) -> None:
    links = json.dumps([{"target": "river", "type": "supports"}])
    added = notes("add", "Dry summer.", "--links", links, "--vectors", '{"extra": [1, 0]}')
    assert added.code == 0
    assert notes("stats", "--json").json["links"] == 1


def test_import_reports_what_was_rejected(notes: Run, tmp_path: Path) -> None:
    again = notes("import", str(tmp_path / "notes.jsonl"), "--json")
    assert again.code == 1
    assert again.json["added"] == 0
    assert [item["id"] for item in again.json["rejected"]] == ["river", "bread", "piano"]
    assert all("taken" in item["reason"] for item in again.json["rejected"])
    lenient = notes("import", str(tmp_path / "notes.jsonl"), "--lenient")
    assert lenient.code == 1  # nothing was kept
    assert "0 added, 3 rejected" in lenient.out
    assert "river" in lenient.err


def test_import_in_batches_takes_several_files(run: Run, tmp_path: Path) -> None:
    for name in ("a", "b"):
        lines = (json.dumps({"id": f"{name}{i}", "content": f"note {i}"}) for i in range(5))
        (tmp_path / name).write_text("\n".join(lines), encoding="utf-8")
    ran = run("import", "a", "b", "--format", "jsonl", "--batch", "2", "--json")
    assert ran.json == {
        "added": 10,
        "outcomes": {"ADDED": 10},
        "blank": [],
        "secrets": 0,
        "rejected": [],
        "known": [],
        "degraded": [],
    }


def test_import_of_a_damaged_file_writes_nothing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "whole.jsonl").write_text('{"content": "whole"}', encoding="utf-8")
    (tmp_path / "half.jsonl").write_text('{"content": "whole"}\n{"content": ', encoding="utf-8")
    ran = run("import", "whole.jsonl", "half.jsonl", "--batch", "1")
    assert ran.code == 2
    assert "half.jsonl, line 2" in ran.err
    assert not (tmp_path / "memory.db").exists()


def test_import_refuses_what_has_no_text_and_takes_the_rest(run: Run, tmp_path: Path) -> None:
    lines = '{"content": "one"}\n{"content": "  "}\n{"content": "two"}\n'
    (tmp_path / "notes.jsonl").write_text(lines, encoding="utf-8")
    ran = run("import", "notes.jsonl", "--lenient")
    assert (ran.code, ran.out) == (0, "2 added, 1 rejected\n")
    assert "notes:2: content: is missing" in ran.err


def test_update_changes_words_and_fields(notes: Run) -> None:
    changes = ("tags=home", "importance=0.8", 'metadata={"a": 1}', "speaker=", "title=7 keys")
    options = [word for change in changes for word in ("--set", change)]
    assert notes("update", "river", "The key is under the mat.", *options).out == "river\n"
    found = notes("get", "river", "--json").json
    assert found["content"] == "The key is under the mat."
    assert (found["tags"], found["importance"], found["metadata"]) == (["home"], 0.8, {"a": 1})
    assert (found["speaker"], found["title"]) == (None, "7 keys")
    assert notes("update", "river", "--set", 'tags=["a", "b"]', "--json").json["tags"] == ["a", "b"]
    assert notes("search", "mat", "--limit", "1", "--json").json["hits"][0]["id"] == "river"


def test_add_replaces_or_skips_if_told(notes: Run) -> None:
    assert notes("add", "New.", "--id", "river").code == 2
    for rule, note in (("skip", "SKIPPED river the id is taken"), ("replace", "UPDATED river")):
        ran = notes("add", "New.", "--id", "river", "--on-conflict", rule)
        assert (ran.code, ran.out, ran.err.strip()) == (0, "river\n", note)
    assert notes("get", "river", "--json").json["content"] == "New."


def test_update_merges_metadata_or_replaces_them(notes: Run) -> None:
    for option, keys in (
        ("--replace-metadata", {"a": 1, "b": 2}),
        ("--metadata", {"b": None, "c": 3}),
    ):
        assert notes("update", "river", option, json.dumps(keys)).code == 0
    assert notes("get", "river", "--json").json["metadata"] == {"a": 1, "c": 3}
    assert notes("update", "river", "--set", 'metadata={"a": null}').code == 0
    assert notes("get", "river", "--json").json["metadata"] == {"c": 3}
    assert notes("update", "river", "--set", "metadata=").code == 0
    assert notes("get", "river", "--json").json["metadata"] == {}


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        (["river"], "give a text, --set or --metadata", 2),
        (["river", "--metadata", "[1]"], "is not a JSON object", 2),
        (["river", "--metadata", "{}", "--replace-metadata", "{}"], "give one of the two", 2),
        (["river", "--set", "importance"], "write it as importance=0.8", 2),
        (["river", "--set", "importance=much"], "write its value as JSON", 2),
        (["river", "--set", "importance=7"], "between 0 and 1", 2),
        (["river", "--set", "colour=red"], "cannot be updated", 2),
        (["nobody", "New words."], "there is no memory 'nobody'", 1),
    ],
)
def test_a_wrong_update_says_why(notes: Run, arguments: list[str], said: str, code: int) -> None:
    ran = notes("update", *arguments)
    assert ran.code == code
    assert said in ran.err


@pytest.mark.parametrize("option", ["--namespace", "--db", "--embedder"])
def test_an_option_left_empty_is_refused(notes: Run, option: str) -> None:
    ran = notes("delete", "--all", "--yes", option, "")
    assert ran.code == 2
    assert f"{option[2:]}: is empty" in ran.err
    assert notes("list", "--json").json["total"] == 3


def test_a_variable_left_empty_is_refused(notes: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SALIENCE_NAMESPACE", "")
    assert "namespace: is empty" in notes("delete", "--all", "--yes").err


def test_only_files_have_to_exist() -> None:
    Settings(db="postgresql://nobody@localhost/none?sslmode=prefer").require()
    with pytest.raises(StoreError, match="no such file"):
        Settings(db="sqlite:///none.db?mode=ro").require()


def test_search_finds_and_says_why(notes: Run) -> None:
    shown = notes("search", "Who bakes bread?")
    assert shown.code == 0
    assert "Ben bakes bread" in shown.out
    assert "lexical" in shown.out
    assert "\x1b" not in shown.out
    found = notes("search", "Who bakes bread?", "--limit", "1", "--json").json
    assert [hit["id"] for hit in found["hits"]] == ["bread"]
    assert "explanation" not in found["hits"][0]
    explained = notes("search", "bread", "--limit", "1", "--json", "--explain").json
    [hit] = explained["hits"]
    assert hit["explanation"]["value"] == hit["score"]


def test_search_narrows_by_filter_score_and_weights(notes: Run) -> None:
    ana = notes("search", "bread", "--filter", '{"speaker": "Ana"}', "--json").json
    assert [hit["id"] for hit in ana["hits"]] == ["river"]
    nothing = notes("search", "bread", "--option", "min_score=1000", "--json")
    assert nothing.code == 1
    assert nothing.json["hits"] == []
    plain, weighted = (
        notes("search", "bread", "--profile", "composite", *more, "--json").json["hits"][0]
        for more in (["--no-touch"], ["--option", 'weights={"importance": 0, "recency": 0}'])
    )
    assert weighted["score"] < plain["score"]


def test_search_touches_unless_told_not_to(notes: Run) -> None:
    for option, count in (("--no-touch", 0), ("--touch", 1)):
        notes("search", "rye", option, "--limit", "1")
        assert notes("get", "bread", "--json").json["access_count"] == count


def test_search_ranks_for_another_time(notes: Run) -> None:
    asked = ("search", "bread", "--profile", "composite", "--no-touch", "--json")
    today, later = (notes(*asked, *now).json["hits"] for now in ([], ["--now", "2099-01-01"]))
    assert later[0]["score"] < today[0]["score"]


def test_search_with_a_profile_of_ones_own(notes: Run, tmp_path: Path) -> None:
    shown = notes("profiles", "show", "composite", "--json").json
    (tmp_path / "mine.json").write_text(json.dumps({**shown, "name": "mine"}), encoding="utf-8")
    assert notes("search", "bread", "--profile", "mine.json", "--json").json["profile"] == "mine"


def test_explain_shows_the_whole_tree(notes: Run) -> None:
    shown = notes("explain", "bread", "bread")
    assert shown.code == 0
    assert "score (balanced)" in shown.out
    assert "Hit 1 of 3" in shown.out
    score = notes("search", "bread", "--limit", "1", "--json", "--no-touch").json["hits"][0][
        "score"
    ]
    assert notes("explain", "bread", "bread", "--json").json["score"] == score


def test_list_goes_page_by_page(notes: Run) -> None:
    first = notes("list", "--limit", "2", "--json").json
    assert first["total"] == 3
    rest = notes("list", "--limit", "2", "--cursor", first["cursor"], "--json").json
    assert rest["cursor"] is None
    ids = [one["id"] for one in first["memories"] + rest["memories"]]
    assert sorted(ids) == ["bread", "piano", "river"]
    some = notes("list", "--filter", '{"tags": "home"}')
    assert "piano" in some.out
    assert "bread" not in some.out
    assert "1 of 1 memories" in some.err


def test_list_has_the_oldest_first_if_asked(notes: Run) -> None:
    newest = [one["id"] for one in notes("list", "--json").json["memories"]]
    assert newest == ["piano", "bread", "river"]
    first = notes("list", "--order", "oldest", "--limit", "2")
    assert first.err.splitlines()[-1].startswith("more with --order oldest --cursor ")
    cursor = first.err.split()[-1]
    rest = notes("list", "--order", "oldest", "--cursor", cursor, "--json").json
    assert [one["id"] for one in rest["memories"]] == ["piano"]
    other_way = notes("list", "--cursor", cursor)
    assert (other_way.code, "order='oldest'" in other_way.err) == (2, True)


@pytest.mark.parametrize("order", ["newest", "oldest"])
def test_an_imported_listing_keeps_its_order(run: Run, order: str) -> None:
    items = [{"id": id, "content": id, "created_at": "2026-03-01"} for id in ("c", "a", "b")]
    assert run("import", "-", "--db", "one.db", stdin=json.dumps(items).encode()).code == 0
    listing = run("list", "--order", order, "--db", "one.db", "--json").out
    assert run("import", "-", "--db", "other.db", stdin=listing.encode()).code == 0
    for db in ("one.db", "other.db"):
        memories = run("list", "--order", "oldest", "--db", db, "--json").json["memories"]
        assert [one["id"] for one in memories] == ["c", "a", "b"]


def test_count(notes: Run) -> None:
    assert notes("count").out == "3\n"
    assert notes("count", "--filter", '{"tags": "home"}', "--json").json == {"count": 1}
    notes("archive", "piano")
    assert notes("count", "--archived").out == "1\n"
    assert notes("count", "--not-archived").out == "2\n"


def test_a_change_of_another_version_is_refused(notes: Run) -> None:
    assert notes("update", "piano", "--set", "importance=0.5", "--if-version", "1").code == 0
    for command in (
        ("update", "piano", "Other words"),
        ("pin", "piano"),
        ("unpin", "piano"),
        ("feedback", "piano", "reinforce"),
        ("supersede", "piano", "bread"),
        ("delete", "piano"),
    ):
        ran = notes(*command, "--if-version", "1")
        assert (ran.code, "the version 2, not 1" in ran.err) == (2, True), command
    assert notes("get", "piano", "--json").json["version"] == 2
    assert "is of one memory" in notes("delete", "piano", "bread", "--if-version", "1").err
    assert notes("pin", "piano", "--if-version", "2").code == 0
    assert notes("delete", "piano", "--if-version", "3").out == "1 deleted\n"
    assert notes("count").out == "2\n"


def test_delete_by_id_by_filter_and_all(notes: Run) -> None:
    deleted = notes("delete", "river", "--json").json
    assert deleted == {"deleted": 1, "missing": [], "receipt": None, "restored": []}
    again = notes("delete", "river", "bread")
    assert again.code == 1
    assert "1 deleted" in again.out
    assert "'river'" in again.err
    notes("add", "left", "--kind", "fact")
    erased = notes("delete", "--filter", '{"kind": "fact"}', "--yes", "--json").json
    assert erased["deleted"] == erased["receipt"]["memories"] == 1
    assert erased["receipt"]["remaining"]["memories"] == 0
    notes("add", "Ben brings the cake.", "--user", "ben")
    asked = notes("delete", "--user", "ben", stdin=b"n\n")
    assert (asked.code, "Erase 1 memory of ben, in" in asked.err) == (1, True)
    forgotten = notes("delete", "--user", "ben", "--yes").out
    assert forgotten.startswith("1 deleted\nerased: 1 memories, ")
    assert "checked: 0 of them found again." in forgotten
    refused = notes("delete", "--all", stdin=b"n\n")
    assert refused.code == 1
    assert "Erase 1 memory, in" in refused.err
    assert notes("delete", "--all", stdin=b"y\n").out.startswith("1 deleted\n")
    assert notes("list", "--json").json["total"] == 0


def test_delete_says_what_holds_again(notes: Run) -> None:
    notes("add", "Ana lives in Porto.", "--id", "porto")
    notes("add", "Ana lives in Lisbon.", "--id", "lisbon", "--supersedes", "porto")
    said = notes("delete", "lisbon").out
    assert "hold again, as what superseded or merged them is gone: porto" in said
    assert "Porto" in notes("search", "Where does Ana live?").out


@pytest.mark.parametrize(
    "arguments",
    [
        ("delete",),
        ("delete", "river", "--all"),
        ("delete", "--filter", "{}", "--yes"),
        ("delete", "--all", "--json"),
    ],
)
def test_delete_never_guesses(notes: Run, arguments: tuple[str, ...]) -> None:
    assert notes(*arguments).code == 2
    assert notes("list", "--json").json["total"] == 3


def test_stats_and_record_for_people(notes: Run) -> None:
    assert notes("stats", "--json").json["memories"] == 3
    assert "default" in notes("stats", "--all").out
    shown = notes("get", "piano").out
    assert "tuned every year" in shown
    assert "home" in shown


def test_get_list_and_stats_go_back(notes: Run) -> None:
    past = ("--as-of", "2020-01-01")
    assert notes("list", *past, "--json").json["total"] == 0
    assert notes("stats", *past, "--json").json["memories"] == 0
    assert notes("count", *past).out.strip() == "0"
    ran = notes("get", "river", *past)
    assert (ran.code, "there is no memory" in ran.err) == (1, True)
    now = datetime.now(timezone.utc).isoformat()
    assert notes("get", "river", "--as-of", now, "--json").json["id"] == "river"
    listed = notes("list", "-n", "1", "--as-of", now)
    assert f"more with --as-of '{now}' --cursor" in listed.err
    assert "as_of" in notes("list", "--as-of", "2999-01-01").err


def test_profiles_lists_and_shows(run: Run) -> None:
    listed = run("profiles", "--json").json
    assert {"balanced", "composite"} <= {one["name"] for one in listed}
    assert all(one["formula"] for one in listed)
    assert "balanced" in run("profiles").out
    assert "0.5 * similarity" in run("profiles", "show", "composite").out
    assert run("profiles", "show", "composite", "--json").json["name"] == "composite"


def test_brackets_are_text_and_no_markup(run: Run) -> None:
    run("add", "Press [bold]Enter[/] to [link=x]go", "--id", "[red]", "--speaker", "[/]")
    assert "[bold]Enter[/]" in run("search", "Press enter").out
    assert "[red]" in run("list").out
    assert "[bold]Enter[/]" in run("get", "[red]").out
    assert "[red]" in run("search", "Press enter", "--explain").out


def test_demo_recalls_explains_and_says_what_next_on_a_screen(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for _ in range(2):  # the second time the memories are there already
        shown = run("demo", "--db", "demo.db")
        assert shown.code == 0
        assert "score (balanced)" in shown.out
        assert "salience search --db demo.db --namespace demo" in shown.out
        assert "\x1b" not in shown.out
        lines = shown.out.splitlines()
        assert len(lines) <= 24
        assert max(map(len, lines)) <= 80
    assert run("stats", "--db", "demo.db", "--namespace", "demo", "--json").json["memories"] == 230
    result = run("demo", "--db", "demo.db", "--json").json["result"]
    assert result["hits"][0]["explanation"]


def test_demo_writes_only_into_a_store_that_was_named(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import tempfile

    run("add", "A memory of my own.", "--db", "own.db")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("SALIENCE_DB", "own.db")
    monkeypatch.setenv("SALIENCE_NAMESPACE", "own")
    assert "/demo-" in run("demo").out
    assert run("stats", "--all", "--json").json["memories"] == 1


def test_demo_commands_work(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import shlex
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    commands = run("demo").out.partition("\nTry next")[2].strip().splitlines()[1:]
    assert len(commands) == 3
    for command in commands:
        program, *arguments = shlex.split(command)
        assert program == "salience"
        assert run(*arguments).code == 0


def test_add_takes_what_the_library_takes(run: Run) -> None:
    taken = set(signature(Memory.add).parameters) - {"self", "content", "time_zone"}
    assert set(signature(add.add).parameters) - {"settings", "text"} == taken
    run(
        *("add", "The flat is in Lisbon.", "--id", "flat", "--tier", "long", "--layer", "entity"),
        *("--gist", "home", "--decay-rate", "0.01", "--confidence", "0.5", "--pinned"),
        *("--expires-at", "2999-01-01", "--valid-from", "2020-01-01"),
    )
    found = run("get", "flat", "--json").json
    assert (found["tier"], found["layer"], found["gist"]) == ("long", "entity", "home")
    assert (found["decay_rate"], found["confidence"], found["pinned"]) == (0.01, 0.5, True)
    assert (found["expires_at"][:4], found["valid_from"][:4]) == ("2999", "2020")


def test_zones_say_how_alive_each_memory_is(run: Run) -> None:
    long_ago = datetime(2020, 1, 1, tzinfo=timezone.utc)
    with Memory.open("memory.db", clock=lambda: long_ago) as memory:
        memory.add("An old note.", id="old")
    run("add", "A new one.", "--id", "new")
    found = run("zones", "--json").json
    assert [item["id"] for item in found["memories"]] == ["old", "new"]
    assert found["counts"] == {"active": 1, "dormant": 1}
    shown = run("zones", "--limit", "1")
    assert "old" in shown.out
    assert "2 memories: active 1, dormant 1" in shown.err


def test_add_says_when_a_memory_is_there_already(run: Run) -> None:
    run("add", "The spare key is with Ana.", "--id", "key", "--kind", "fact")
    again = run("add", "The spare key is with Ana.", "--kind", "fact")
    assert (again.code, again.out.strip()) == (0, "key")
    assert again.err.startswith("DUPLICATE key")
    other = run("add", "The spare key is with Ana.", "--kind", "fact", "--no-dedup")
    assert other.out.strip() != "key"


def test_reembed_replaces_the_vectors_of_another_embedder_only_when_told_by_which(
    run: Run, tmp_path: Path
) -> None:
    with Memory.open(f"sqlite:///{tmp_path / 'memory.db'}", embedder=WordHashEmbedder()) as memory:
        memory.add("Ana likes tea.", id="a")
    for command in (["reembed"], ["reembed", "--missing"]):
        refused = run(*command)
        assert refused.code != 0
        assert "word-hash" in refused.err
        assert "salience reembed --embedder NAME" in refused.err
    with Memory.open(f"sqlite:///{tmp_path / 'memory.db'}", embedder=WordHashEmbedder()) as memory:
        assert memory.search("tea").ids == ("a",)
    assert run("reembed", "--embedder", "default").code == 0
    assert run("search", "tea").code == 0
    assert run("reembed").code == 0  # they are the default one's already


def test_a_history_is_told_page_by_page(notes: Run) -> None:
    assert notes("update", "piano", "The piano was tuned.").code == 0
    first = notes("history", "piano", "--limit", "1")
    assert "write" in first.out
    assert first.err.startswith("more with --cursor ")
    rest = notes("history", "piano", "--cursor", first.err.split()[-1], "--json").json
    assert ([event["type"] for event in rest["events"]], rest["cursor"]) == (["edit"], None)
    assert rest["number_before"] == 1


def test_a_mistyped_namespace_names_its_neighbours(notes: Run) -> None:
    notes("add", "Ana has a boat.", "--namespace", "harbour")
    for command in (("search", "boat"), ("list",), ("get", "x"), ("context", "boat")):
        said = notes(*command, "--namespace", "harbor").err
        assert "'harbor' has no memories; there are memories in harbour" in said, command
    assert "has no memories" not in notes("search", "zzz").err


def test_a_time_before_anything_was_known_is_told(notes: Run) -> None:
    for command in (("search", "river"), ("list",), ("count",), ("get", "river")):
        said = notes(*command, "--as-of", "2001-01-01").err
        assert said.count("nothing was known yet at 2001-01-01") == 1


def test_the_beginning_of_an_id_will_do_where_no_other_begins_so(run: Run) -> None:
    ids = ["aaaa1111-one", "bbbb2222-two", "cccc3333", "cccc3333-more", "dddd4444-x", "dddd4444-y"]
    for id in ids:
        assert run("add", f"The note {id}.", "--id", id).code == 0
    assert run("get", "aaaa1111", "--json").json["id"] == "aaaa1111-one"
    assert run("get", "[m:bbbb2222]", "--json").json["id"] == "bbbb2222-two"
    assert run("get", "cccc3333", "--json").json["id"] == "cccc3333"  # a whole one
    for given, says in {"dddd4444": "begins the ids of 2", "aaaa111": "no memory"}.items():
        ran = run("get", given)
        assert ran.code != 0
        assert says in ran.err
    assert run("update", "aaaa1111", "The first note.").code == 0
    assert run("link", "aaaa1111", "bbbb2222").out == "aaaa1111-one mentions bbbb2222-two\n"
    assert run("supersede", "aaaa1111", "bbbb2222").code == 0
    assert run("history", "aaaa1111", "--json").json["events"][0]["id"] == "aaaa1111-one"
    assert "bbbb2222-two" in run("explain", "note", "bbbb2222").out
    assert run("pin", "aaaa1111").code == 0
    assert run("archive", "cccc3333-m", "--json").json["archived"] == ["cccc3333-more"]
    assert run("delete", "aaaa1111", "dddd4444-y", "--json").json["deleted"] == 2
    assert run("delete", "dddd4444", "--json").json["deleted"] == 1
