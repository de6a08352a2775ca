"""Names of stores that were written before names had one normal form (NFC)."""

from __future__ import annotations

import sqlite3
import unicodedata
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from salience import Memory
from salience.records import validation
from salience.stores import migrate
from salience.stores.postgres.sql.columns import VERSION
from salience.testing import WordHashEmbedder
from support.older_files import without_guard, without_last_columns
from support.shared_postgres import Databases

NAME = "Zoë Ångström"
APART = unicodedata.normalize("NFD", NAME)
HALF = unicodedata.normalize("NFD", "Zoë") + NAME[3:]


_BEFORE_18 = """
    SET search_path = salience;
    DROP TABLE changes, indexes;
    DROP INDEX vectors_by_row;
    ALTER TABLE spaces DROP COLUMN changes_from, ADD COLUMN erased integer NOT NULL DEFAULT 0,
        ADD COLUMN linked bigint NOT NULL DEFAULT 0, ADD COLUMN born bigint NOT NULL DEFAULT 0;
    CREATE TABLE places (namespace text COLLATE "C" NOT NULL, "row" integer NOT NULL,
        version bigint NOT NULL, living boolean NOT NULL, PRIMARY KEY (namespace, "row"));
    CREATE TABLE tallies (namespace text COLLATE "C" NOT NULL, kind text COLLATE "C" NOT NULL,
        name text COLLATE "C" NOT NULL, number integer NOT NULL, size integer NOT NULL DEFAULT 0,
        version bigint NOT NULL, PRIMARY KEY (namespace, kind, name));
"""


@pytest.fixture(params=["file", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "file":
        return f"sqlite:///{tmp_path / 'old.db'}"
    postgres: Databases = request.getfixturevalue("postgres")
    return postgres.fresh("names")


@contextmanager
def older(address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    """A memory that keeps names as they are given, whose store is then brought up to date."""
    with monkeypatch.context() as patch:
        as_given = SimpleNamespace(normalize=lambda form, value: value)
        patch.setattr(validation, "unicodedata", as_given)
        with opened(address) as memory:
            yield memory
    if address.startswith("sqlite"):
        with closing(sqlite3.connect(address.removeprefix("sqlite:///"))) as db:
            without_guard(db)
            without_last_columns(db)
            db.execute("PRAGMA user_version = 21")
    else:
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("UPDATE salience.meta SET value = '15' WHERE key = 'schema'")
            for column in ("ids", "key", "body"):  # of versions 17 and 21
                connection.execute(f"ALTER TABLE salience.erasures DROP COLUMN {column}".encode())
            connection.execute(_BEFORE_18)
            rename = f"ALTER TABLE salience.spaces RENAME COLUMN {VERSION} TO version"
            connection.execute(rename.encode())
        migrate(address)


def opened(address: str) -> Memory:
    return Memory.open(address, embedder=WordHashEmbedder())


def test_names_are_found_by_the_form_of_today(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields: dict[str, Any] = dict.fromkeys(
        ("user_id", "agent_id", "session_id", "speaker", "kind", "id"), APART
    )
    metadata = {APART: {APART: APART, "size": 1e300}, NAME: 1, f"in {APART}": [APART]}
    listed: dict[str, Any] = {"tags": [APART, f'"{APART}", {{x}}'], "entities": [APART]}
    with older(address, monkeypatch) as memory:
        within = memory.for_namespace(APART)
        within.add("A kite.", title=APART, metadata=metadata, **fields, **listed)
        memory.for_namespace(APART, actor=APART).add(
            APART, id=f"{APART}/2", tags=[APART], entities=["Z"]
        )
        within.link(APART, f"{APART}/2", "supports")
        within.update(
            f"{APART}/2", content="A cello.", metadata={APART: APART}, tags=[], entities=["Z"]
        )

    with opened(address) as memory:
        memory = memory.for_namespace(NAME)
        for name in (*fields, "tags", "entities"):
            assert memory.get_all({name: NAME if name in fields else [NAME]}).total == 1, name
        kept = memory[NAME]
        assert kept.tags == (NAME, f'"{NAME}", {{x}}')
        assert kept.title == APART
        assert kept.metadata[APART] == {NAME: APART, "size": 1e300}
        assert kept.metadata[NAME] == 1
        assert kept.metadata[f"in {NAME}"] == [APART]
        assert [link.target for link in memory.links(NAME)] == [f"{NAME}/2"]
        assert memory[f"{NAME}/2"].written_by == NAME
        edit = memory.history(f"{NAME}/2")[-1]
        assert edit.payload["was"] == {"content": APART, "metadata": {}, "tags": [NAME]}
        assert memory.get_all({f"metadata.{NAME}": APART}).total == 1
        assert memory.search("kite", filters={"speaker": NAME}).ids == (NAME,)
        assert memory.search(f"What does {NAME} have?").ids
        assert memory.upkeep.doctor().healthy
        assert memory.delete_user(NAME).memories == 1
        assert memory.upkeep.doctor().healthy


@pytest.mark.parametrize("forms", [(APART, NAME, HALF), (HALF, APART)])
def test_several_forms_of_a_name_keep_all_they_had(
    address: str, forms: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    with older(address, monkeypatch) as memory:
        for place, name in enumerate(forms):
            within = memory.for_namespace(name)
            for id in forms:
                within.add(f"{place} of {id}", id=id)
            within.link(forms[0], forms[1], "supports")

    with opened(address) as memory:
        names = memory.stats(everywhere=True)["namespaces"]
        assert len(names) == len(forms)
        assert NAME in names
        places = set[str]()
        for name in names:
            assert name == unicodedata.normalize("NFC", name)
            within = memory.for_namespace(name)
            ids = {record.content[5:]: record.id for record in within.iterate()}
            assert len(set(ids.values())) == len(forms)
            assert NAME in ids.values()
            assert all(within.get(id) for id in ids.values())
            links = [link for link in within.links(ids[forms[0]]) if link.type == "supports"]
            assert [link.target for link in links] == [ids[forms[1]]]
            assert within.upkeep.doctor().healthy
            places.update(record.content[0] for record in within.iterate())
            if NAME in forms:
                assert ids[NAME] == NAME
        assert len(places) == len(forms)


def test_what_is_damaged_does_not_pass_for_sound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "old.db"
    with older(f"sqlite:///{path}", monkeypatch) as memory:
        memory.add("A kite.", id="kite", speaker=APART)
        memory.add("A cello.", id=APART)
        memory.link("kite", APART, "supports")
        memory.upkeep.flush()
        with closing(sqlite3.connect(path)) as db, db:
            db.execute("UPDATE memories SET content = 'A kit.' WHERE id = 'kite'")
            db.execute("UPDATE links SET weight = 0.25")
            db.execute("UPDATE events SET payload = '{}' WHERE type = 'link'")
    with opened(f"sqlite:///{path}") as memory:
        checks = {
            finding.check for finding in memory.upkeep.doctor().findings if not finding.harmless
        }
        assert checks >= {"memories", "links", "events"}
        assert memory[NAME].content == "A cello."
