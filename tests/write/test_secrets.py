"""Secrets in texts: found by shape and by what is told, and kept, flagged or refused."""

from __future__ import annotations

import pytest

from salience import Memory
from salience.errors import InvalidInput
from salience.language.secrets import secret_in

KEY = "AKIA" + "IOSFODNN7EXAMPLE"
SECRETS = {
    f"use {KEY} for the bucket": "key",
    "postgres://ana:hunter2@localhost/db": "key",
    "-----BEGIN RSA PRIVATE " + "KEY-----": "key",
    "OPENAI_API_KEY=sk-proj-" + "abcdefghijklmnop1234": "key",
    "Authorization: Bearer " + "abc123def456ghi789": "key",
    "My password is hunter2": "password",
    "DB_PASSWORD=hunter2x": "password",
    "client_secret: 8Q~abcdefghijkl": "password",
    "Notes:\n\nAna's PIN is 4711.": "password",
    "Mein Passwort lautet Hase123": "password",
    "The door code is 4711": "password",
}
HARMLESS = (
    "",
    "The token expires in 15 minutes",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "https://example.com/AbCdEf0123456789AbCdEf0123456789AbCd",
    "The key is under the mat, and the secret is patience.",
    "A bus pass is 49 euros; sign up for the bus pass tomorrow",
    "My zip code is 90210",
    "Base64EncodedStringConverterFactory",
)


@pytest.mark.parametrize(("text", "kind"), SECRETS.items())
def test_a_secret_is_found(text: str, kind: str) -> None:
    assert secret_in(text) == kind


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_is_none(text: str) -> None:
    assert secret_in(text) is None


def test_by_default_a_secret_is_flagged_in_the_answer_and_in_the_audit() -> None:
    memory = Memory.open("ram://", embedder=None)
    told = {"content": "My password is hunter2", "id": "p"}
    result = memory.add_many([{"content": "The sky is blue."}, told])
    assert [item.secret for item in result] == [None, "password"]
    assert [item.id for item in result.secrets] == ["p"]
    memory.add("My PIN is 4711.", id="t", session_id="s")
    finding = memory.upkeep.audit()["secrets"]
    assert (finding.count, finding.of) == (2, 3)
    assert "hunter2" not in str(finding.to_dict())
    assert finding.actions[0].body == {"ids": ["p", "t"]}


def test_a_memory_can_refuse_or_keep_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory.open("ram://", embedder=None, secrets="refuse")
    with pytest.raises(InvalidInput, match="refuses secrets"):
        memory.add("My password is hunter2")
    memory.add("The sky is blue.", id="sky")
    with pytest.raises(InvalidInput, match="refuses secrets"):
        memory.update("sky", content=f"use {KEY}")
    items: list[str | dict[str, str]] = [
        "My password is hunter2",
        {"content": "A note.", "title": f"{KEY}"},
        "Fine.",
    ]
    outcomes = [item.outcome for item in memory.for_namespace("other").add_many(items)]
    assert outcomes == ["REJECTED", "REJECTED", "ADDED"]
    keeps = Memory.open("ram://", embedder=None, secrets="keep")
    assert keeps.add("My password is hunter2").secrets == ()
    assert keeps.upkeep.audit()["secrets"].count == 0
    monkeypatch.setenv("SALIENCE_SECRETS", "refuse")
    with pytest.raises(InvalidInput, match="refuses secrets"):
        Memory.open("ram://", embedder=None).add("My password is hunter2")
    with pytest.raises(InvalidInput, match="secrets"):
        Memory.open("ram://", secrets="hide")  # type: ignore[arg-type]
