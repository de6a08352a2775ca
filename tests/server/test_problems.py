"""Every error becomes a problem after RFC 9457, which names the field and hides the insides."""

from __future__ import annotations

import inspect
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from starlette.exceptions import HTTPException

import salience.errors
from salience.errors import (
    DiskFull,
    EmbedderError,
    EmbedderMismatch,
    ExtractionError,
    IdTaken,
    InvalidInput,
    InvalidProfile,
    Locked,
    NotEmpty,
    NotFound,
    NotWritable,
    RerankerError,
    SalienceError,
    StoreClosed,
    StoreError,
    VersionConflict,
)
from salience.importers import ImportProblem
from salience.server.problems import (
    KINDS,
    FieldProblem,
    Problem,
    Refused,
    pointer_to,
    problem_of,
    problem_type,
)

RECORD = SimpleNamespace(id="m1", version=3, to_dict=lambda: {"id": "m1", "version": 3})
ERRORS: list[tuple[Exception, str, int]] = [
    (InvalidInput("limit", "is 0", "give 1"), "InvalidInput", 422),
    (IdTaken("id", "'x' is taken", "leave the id out"), "IdTaken", 409),
    (InvalidProfile("steps[1].weight", "is text", "give a number"), "InvalidProfile", 422),
    (ImportProblem("/tmp/x.jsonl", "is not JSON", "mend it", line=3), "ImportProblem", 422),
    (NotFound("there is no memory 'x'"), "NotFound", 404),
    (VersionConflict(RECORD, 2), "VersionConflict", 412),
    (Locked("host-7:4242 has been maintaining"), "Locked", 409),
    (EmbedderMismatch("one", "two"), "EmbedderMismatch", 409),
    (EmbedderError("it said: my secret text", "it answers 500"), "EmbedderError", 503),
    (RerankerError("it said: my secret text", "it answers 500"), "RerankerError", 503),
    (ExtractionError("it said: my secret text", "it answers 500"), "ExtractionError", 503),
    (NotEmpty("the namespace 'ana' holds 3 memories"), "NotEmpty", 409),
    (StoreClosed("/var/lib/memory.db is closed"), "StoreClosed", 503),
    (StoreError("/var/lib/memory.db: a value is damaged"), "StoreError", 503),
    (NotWritable("/var/lib/memory.db: was moved", "its file was moved"), "NotWritable", 503),
    (DiskFull("/var/lib/memory.db: its disk is full"), "DiskFull", 507),
    (SalienceError("dates need an extra"), "SalienceError", 500),
    (RuntimeError("/var/lib my secret text"), "InternalError", 500),
    (KeyError("my secret text"), "InternalError", 500),
    (HTTPException(404), "NotFound", 404),
    (HTTPException(405, headers={"Allow": "GET"}), "MethodNotAllowed", 405),
    (HTTPException(418), "InternalError", 500),
    (Refused(Problem("ScopeMissing", "needs upkeep")), "ScopeMissing", 403),
]


@pytest.mark.parametrize(("error", "code", "status"), ERRORS)
def test_each_error_has_its_status_and_code(error: Exception, code: str, status: int) -> None:
    problem = problem_of(error)
    body = msgspec.json.decode(msgspec.json.encode(problem.to_dict("r1")))
    assert (body["code"], body["status"], problem.status) == (code, status, status)
    assert body["instance"] == "r1"
    assert body["type"] == problem_type(code)
    assert body["title"] == KINDS[code].title
    for inside in ("/var/lib", "/tmp", "my secret text", "host-7"):
        assert inside not in str(body)


def test_every_error_of_the_engine_is_in_the_table() -> None:
    classes = inspect.getmembers(salience.errors, inspect.isclass)
    errors = {name for name, each in classes if issubclass(each, SalienceError)}
    errors -= {"AccessDenied", "ServerBusy"}  # a client's, for what a server has refused
    assert errors <= KINDS.keys()
    assert errors <= {code for _, code, _ in ERRORS}


def test_every_kind_has_a_status_of_http_and_a_type_of_its_own() -> None:
    assert len({problem_type(code) for code in KINDS}) == len(KINDS)
    for code, kind in KINDS.items():
        assert HTTPStatus(kind.status) >= 400
        assert problem_type(code).startswith("/problems/")
    assert problem_type("InvalidInput") == "/problems/invalid-input"


def test_a_refused_field_is_named_with_its_remedy_and_its_place() -> None:
    body = problem_of(InvalidInput("items[2].tags", "has 7", "give texts")).to_dict("r1")
    assert body["detail"] == "items[2].tags: has 7; give texts"
    assert body["errors"] == [
        {
            "pointer": "#/items/2/tags",
            "field": "items[2].tags",
            "problem": "has 7",
            "remedy": "give texts",
        }
    ]


def test_a_line_of_an_import_is_named_without_the_file() -> None:
    body = problem_of(ImportProblem("/tmp/x", "is not JSON", "mend it", line=3)).to_dict("r1")
    assert body["errors"] == [{"field": "line 3", "problem": "is not JSON", "remedy": "mend it"}]


def test_a_conflict_has_the_memory_as_it_is_now() -> None:
    assert problem_of(VersionConflict(RECORD, 2)).to_dict("r1")["record"] == RECORD.to_dict()
    assert "record" not in problem_of(NotFound("x")).to_dict("r1")


@pytest.mark.parametrize(
    ("field", "pointer"),
    [
        ("content", "#/content"),
        ("limits.per_session", "#/limits/per_session"),
        ("messages[0].role", "#/messages/0/role"),
        ("vectors[1][2]", "#/vectors/1/2"),
        ("Idempotency-Key", "#/Idempotency-Key"),
        ("line 3", None),
        ("a/b", None),
        ("", None),
        ("items[x]", None),
    ],
)
def test_a_pointer_leads_to_the_field(field: str, pointer: str | None) -> None:
    assert pointer_to(field) == pointer


def test_a_field_without_a_place_has_no_pointer() -> None:
    described: dict[str, Any] = FieldProblem("If-Match", "is no version").to_dict()
    assert described == {"field": "If-Match", "problem": "is no version", "remedy": ""}
