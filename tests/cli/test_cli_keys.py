"""The commands `keys ...`: a key is shown once, alone on stdout."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from salience.access import SCOPES, Keyring
from salience.access.plans import KeyText
from support.served import serve_memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cli.conftest import Run
    from support.served import Served


@pytest.fixture
def served() -> Iterator[Served]:
    with serve_memory("ram://", embedder=None) as memory:
        yield memory


def created(run: Run, *options: str) -> KeyText:
    """The key that `keys create` prints."""
    ran = run("keys", "create", "--namespace", "ana", "--scope", "memories:read", *options)
    assert ran.code == 0, ran.err
    text = KeyText.parse(ran.out.removesuffix("\n"))
    assert text is not None
    assert text.secret not in ran.err
    return text


def test_a_key_that_was_made_is_valid(run: Run, tmp_path: Path) -> None:
    ran = run(
        *("keys", "create", "--namespace", "ana", "--namespace", "team/*"),
        *("--scope", "memories:read, upkeep", "--scope", "keys", "--expires", "90d"),
        *("--name", "web app", "--json"),
    )
    about = ran.json["key"]
    assert about["namespaces"] == ["ana", "team/*"]
    assert about["scopes"] == ["memories:read", "upkeep", "keys"]
    assert about["name"] == "web app"
    with Keyring.open(tmp_path / "memory.db") as keys:
        principal = keys.check(ran.json["text"])
        [key] = keys.list()
    assert principal is not None
    assert principal.key_id == about["id"]
    assert key.expires_at is not None
    left = key.expires_at - datetime.now(timezone.utc)
    assert timedelta(days=89) < left <= timedelta(days=90)


def test_the_list_shows_every_key_and_no_secret(run: Run) -> None:
    first, second = created(run, "--expires", "2999-01-01", "--name", "web"), created(run)
    run("keys", "revoke", second.id)
    shown = run("keys", "list").out
    assert shown.index(first.id) < shown.index(second.id)
    for part in ("ana: memories:read", "web", "expires 2999-01-01", "never used", "revoked 2"):
        assert part in shown
    for ran in (run("keys", "list"), run("keys", "list", "--json")):
        for key in (first, second):
            assert key.secret not in ran.out + ran.err
            assert key.digest not in ran.out + ran.err
    assert [key["id"] for key in run("keys", "list", "--json").json] == [first.id, second.id]


def test_a_rotation_with_an_overlap(run: Run, tmp_path: Path) -> None:
    before = created(run)
    ran = run("keys", "rotate", before.id, "--overlap", "2h")
    assert "the secret before is valid until" in ran.err
    with Keyring.open(tmp_path / "memory.db") as keys:
        assert keys.check(str(before)) == keys.check(ran.out.strip()) is not None
    run("keys", "rotate", before.id)
    with Keyring.open(tmp_path / "memory.db") as keys:
        assert keys.verify(str(before)) == "unknown"
        assert keys.verify(ran.out.strip()) == "expired"


def test_revoking(run: Run, tmp_path: Path) -> None:
    key = created(run)
    assert run("keys", "revoke", key.id).out.startswith(f"{key.id} is revoked")
    assert run("keys", "revoke", key.id, "--json").json["revoked_at"]
    with Keyring.open(tmp_path / "memory.db") as keys:
        assert keys.verify(str(key)) == "revoked"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--namespace", "a"), "--scope: is missing; give some of memories:read,"),
        (("--scope", "keys"), "--namespace: is missing; give a name, ana/* or *"),
        (("--namespace", "a*", "--scope", "keys"), "namespaces: has 'a*'; give a name, a pattern"),
        (("--namespace", "a", "--scope", "admin"), "scopes: has no 'admin'; use memories:read"),
        (("--namespace", "a", "--scope", "keys", "--expires", "0d"), "expires_at: is 2"),
        (("--namespace", "a", "--scope", "keys", "--expires", "9y"), "expires_at: '9y' is not"),
        (
            ("--namespace", "a", "--scope", "keys", "--expires", "999999w"),
            "--expires: is '999999w'",
        ),
    ],
)
def test_wrong_options_make_no_key(run: Run, options: tuple[str, ...], message: str) -> None:
    run("keys", "create", "--namespace", "a", "--scope", "keys")
    ran = run("keys", "create", *options)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"salience: {message}")
    assert len(run("keys", "list", "--json").json) == 1


def test_other_ends(run: Run) -> None:
    missing = run("keys", "list")
    assert (missing.code, missing.out) == (3, "")
    assert "there is no such file" in missing.err
    key = created(run)
    unknown = run("keys", "revoke", "missing1")
    assert (unknown.code, unknown.out) == (1, "")
    assert "salience keys list" in unknown.err
    wrong = run("keys", "rotate", key.id, "--overlap", "soon")
    assert (wrong.code, wrong.out) == (2, "")
    assert "--overlap: is 'soon'; write it as 30m, 12h, 90d or 4w" in wrong.err


def test_the_keys_of_a_server(
    run: Run, served: Served, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SALIENCE_DB", served.url)
    first = run("keys", "create", "--namespace", "*", "--scope", ",".join(SCOPES))
    assert KeyText.parse(first.out.strip())
    assert run("keys", "list").code != 0  # the first key closes the server
    monkeypatch.setenv("SALIENCE_API_KEY", first.out.strip())
    key = created(run, "--expires", "90d", "--name", "web app")
    rotated = run("keys", "rotate", key.id, "--overlap", "2h")
    assert "the secret before is valid until" in rotated.err
    assert "web app" in run("keys", "list").out
    assert run("keys", "revoke", key.id).out.startswith(f"{key.id} is revoked")
    assert [each["id"] for each in run("keys", "list", "--json").json][1:] == [key.id]
    assert not (tmp_path / "memory.db").exists()


def test_a_store_without_keys_says_so(notes: Run) -> None:
    ran = notes("keys", "list")
    assert (ran.code, ran.out) == (1, "")
    assert "salience keys create" in ran.err
    assert notes("keys", "list", "--json").json == []


def test_the_help_of_the_family_lists_its_commands(run: Run) -> None:
    shown = run("keys", "--help").out
    for name in ("create", "list", "rotate", "revoke"):
        assert f"  {name} " in shown
    options = run("keys", "create", "--help").out.partition("Options of every command")[0]
    assert "--namespace" in options
    for scope in SCOPES:
        assert scope in " ".join(options.split())
