"""Requests generated from the OpenAPI document: its schemas say what is taken, and what refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from starlette.testclient import TestClient

from salience.access import LOCAL
from salience.server.app import Server, create_app
from salience.server.routes import OPERATIONS
from salience.server.settings import ServerSettings
from support.examples import examples

EXAMPLES = 3 if settings.get_current_profile_name() == "deep" else 1  # of an operation and mode
NOT_OF_A_SCHEMA = (
    r"cursor: is not one of a listing|after: is not one of a page",  # they come from answers
    r"as_of: .* is in the future|is in the year|is before (the first time|valid_from)",
    r"weights\..*: .* has no part of that name|context: \S+ has no|: compares no vectors",
    r"stages|profile|: is not a part of a profile",  # the grammar of a profile is the engine's
    r"another name of|cannot contradict itself|cannot supersede itself|no name of a run",
    r"no message with text|have no text of|cannot name several messages|messages\[\d+\]",
    r"item: must be a mapping|nothing says what to erase|metadata, which is merged",
    r"sections|max_tokens|belongs to another request|more than 64 bits|too large a number",
    r"contains a NUL character|non-empty text keys",  # in lists of lists
    r"expires_at: is .* is past|there is no time zone|until: is before since|has no base level",
    r"occurs twice|is not one of a page of events|in the namespace .* already|min_similarity",
)
"""Refusals of values that are right by their schemas, for reasons that no schema can say."""
_EXPLAINED = re.compile("|".join(NOT_OF_A_SCHEMA))
_SENT = {"data": "content"}  # as the client of the test calls it
# They cut an answer, and an operation without a query of its own takes whatever else is there.
_WANTED = [{"$ref": f"#/components/parameters/{name}"} for name in ("fields", "nulls")]
_OTHERS = ("export", "load", "metrics", "openapi", "docs")


async def _local(*_: Any) -> Any:
    return LOCAL


@pytest.fixture(scope="module")
def app() -> Iterator[tuple[TestClient, Any]]:
    """A server in this process, that takes whoever asks for a client of this machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Server, "authenticate", _local)
        allowed = ServerSettings(db="ram://", embedder="none", allowed_hosts=("testserver",))
        application = create_app(allowed)
        with TestClient(application) as client:
            document = application.openapi()
            for path in document["paths"].values():
                for operation in path.values():
                    operation["parameters"] = [
                        p for p in operation["parameters"] if p not in _WANTED
                    ]
            yield client, schemathesis.openapi.from_dict(document)


@pytest.mark.one_in(8)
@pytest.mark.parametrize(
    "mode",
    [
        GenerationMode.NEGATIVE,
        pytest.param(GenerationMode.POSITIVE, marks=pytest.mark.deep),
    ],
)
@pytest.mark.parametrize("id", [each.id for each in OPERATIONS if each.id not in _OTHERS])
def test_what_a_schema_says_decides(app: Any, id: str, mode: GenerationMode) -> None:
    client, schema = app
    operation = schema.find_operation_by_id(id)

    @settings(
        max_examples=examples(EXAMPLES),
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        derandomize=True,
        database=None,
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def run(case: Any) -> None:
        sent = case.as_transport_kwargs(base_url="http://testserver")
        sent = {_SENT.get(name, name): sent[name] for name in sent if name != "cookies"}
        response = client.request(**sent)
        assert response.status_code < 500, response.text
        if mode is GenerationMode.POSITIVE and response.status_code in (400, 415, 422):
            detail = response.json()["detail"]
            assert _EXPLAINED.search(detail), f"{detail}\n{sent}"
        if mode is GenerationMode.NEGATIVE and sent.get("json") is not None:
            assert response.status_code >= 400, f"{response.text[:300]}\n{sent}"

    try:
        run()
    except Unsatisfiable:
        assert mode is GenerationMode.NEGATIVE  # nothing can be wrong where nothing is asked
