"""No error of a wrong address tells its password; new files are their owner's alone."""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from salience import Memory
from salience.embedders import EmbedderIdentity
from salience.errors import InvalidInput, SalienceError
from salience.stores.address import public_url, store_url
from salience.testing import WordHashEmbedder
from salience.write.transfer.formats import export_as

MALFORMED = [
    "postgresql//ana:s3cret@db/x",
    "postgresql:/ana:s3cret@db/x",
    "postgresql:ana:s3cret@db/x",
    "ana:s3cret@db/x",
    "postgresql://ana:s3@cret@db/x",
    "postgresql://ana:s3/cret@db/x",
    "postgresql://ana:s3?cret@db/x",
    "postgresql://ana:s3#cret@db/x",
    "postgresql://ana:s3%zzcret@db/x",
    "postgresql://ana:s3cret@:99999/x",
    "postgresql://ana:s3cret@db.invalid/x?connect_timeout=1",
    "postgresql://ana:s3cret@db/x?no_such_option=1",
    "postgresqll://ana:s3cret@db/x",
    "mysql://ana:s3cret@db/x",
    "http//ana:s3cret@db",
    "file://ana:s3cret@db/x",
    "memory://ana:s3cret@db/x",
    " postgresql://ana:s3cret@db/x",
]
RIGHT = {
    "a@b.db": "sqlite:///a@b.db",
    "notes:ana.db": "sqlite:///notes:ana.db",
    "sqlite:///a:b@c.db": "sqlite:///a:b@c.db",
    "postgresql://u:p@h/d": "postgresql://h/d",
    "postgresql://u:p%40q@h/d": "postgresql://h/d",
    "postgresql://u:p@h:5,i:6/d?application_name=a:b@c": "postgresql://h:5,i:6/d",
    "postgresql://[::1]:5432/d?application_name=a:b@c": "postgresql://[::1]:5432/d",
    "postgresql:///d?user=a:b@c": "postgresql:///d",
    "http://host:80/x": "http://host:80/x",
}


@pytest.mark.parametrize("address", MALFORMED)
def test_no_error_tells_the_password(address: str, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(SalienceError) as refused:
        Memory.open(address, embedder=None)
    problem: BaseException | None = refused.value
    while problem is not None:  # a traceback prints the causes, too
        assert "cret" not in f"{problem} {problem.args}"
        problem = problem.__cause__ or problem.__context__
    assert "cret" not in caplog.text


@pytest.mark.parametrize(("address", "shown"), RIGHT.items())
def test_right_addresses_are_taken_and_shown_without_it(address: str, shown: str) -> None:
    assert public_url(store_url(address)) == shown


def test_a_file_that_exists_may_have_any_name(tmp_path: Path) -> None:
    path = tmp_path / "to:ana@home.db"
    with pytest.raises(InvalidInput, match=r"ana@home|\*\*\*@home"):
        Memory.open(str(path), embedder=None)
    Memory.open(path, embedder=None).close()
    Memory.open(str(path), embedder=None).close()


@pytest.fixture
def _usual_umask() -> Any:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("_usual_umask")
def test_new_files_are_their_owners(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "memory.db", embedder=None) as memory:
        memory.add("Ana lives in Porto.")
        assert {mode(path) for path in tmp_path.iterdir()} == {0o600}
        memory.export(tmp_path / "all.jsonl")
        assert mode(tmp_path / "all.jsonl") == 0o600
        (tmp_path / "all.jsonl").chmod(0o644)
        memory.export(tmp_path / "all.jsonl")
        assert mode(tmp_path / "all.jsonl") == 0o644
        export_as(memory, tmp_path / "notes", "markdown")
        assert mode(tmp_path / "notes") == 0o700


class Long(WordHashEmbedder):
    """Vectors of length 3, and of 0 for no words."""

    identity = EmbedderIdentity("test", "long", WordHashEmbedder().identity.dimensions, "1")

    def embed(self, texts: Any, *, kind: Any = "document") -> Any:
        return np.float32(3.0) * super().embed(texts, kind=kind)


def test_vectors_of_another_length_are_normalized_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scores: list[dict[str, Any]] = []
    for embedder in (Long(), WordHashEmbedder()):
        with (
            caplog.at_level(logging.WARNING, "salience"),
            Memory.open("ram://", embedder=embedder) as memory,
        ):
            memory.add_many(["Ana lives in Porto.", "Ben has a cello.", "?"])
            hits = memory.search("Who has a cello?")
            scores.append({hit.content: hit.similarity for hit in hits})
    assert scores[0] == pytest.approx(scores[1], abs=1e-3)
    warnings = [record.getMessage() for record in caplog.records if "length" in record.getMessage()]
    assert len(warnings) == 1
    assert "test/long" in warnings[0]
