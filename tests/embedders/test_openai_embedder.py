"""The OpenAI protocol against a local server that answers well."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from salience.embedders import OpenAIEmbedder
from salience.errors import EmbedderError, InvalidInput
from support.scripted_server import DIMENSIONS, Server, embeddings, vector

pytest.importorskip("httpx", reason="the extra 'openai' is not installed")

KEY = "sk-secret-0123456789"


def expected(*texts: str) -> np.ndarray:
    rows = np.array([vector(text) for text in texts])
    unit: np.ndarray = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def test_rows_are_those_of_the_server_normalised(server: Server) -> None:
    rows = server.embedder(api_key=KEY).embed(["a", "b", "c"])
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, expected("a", "b", "c"), atol=1e-6)
    path, headers, body = server.seen[0]
    assert path == "/v1/embeddings"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert body == {"model": "m", "encoding_format": "float", "input": ["a", "b", "c"]}


@pytest.mark.parametrize("options", [{"reverse": True}, {"packed": True}])
def test_order_comes_from_the_index_and_base64_is_read(
    server: Server, options: dict[str, bool]
) -> None:
    server.script = [embeddings(**options)]
    np.testing.assert_allclose(
        server.embedder().embed(["a", "b", "c"]), expected("a", "b", "c"), atol=1e-6
    )


def test_requests_keep_to_both_bounds_and_blank_texts_are_not_sent(server: Server) -> None:
    texts = ["aaaa", "", "bbbb", "cccc", " \n", "d" * 50, "e"]
    rows = server.embedder(batch_size=2, request_chars=10, text_chars=20).embed(texts)
    assert server.inputs == [["aaaa", "bbbb"], ["cccc"], ["d" * 20], ["e"]]
    assert not rows[[1, 4]].any()
    np.testing.assert_allclose(
        rows[[0, 2, 3, 5, 6]], expected("aaaa", "bbbb", "cccc", "d" * 20, "e"), atol=1e-6
    )


def test_odd_texts_are_sent_as_valid_unicode(server: Server) -> None:
    rows = server.embedder().embed(["\ud800", "\x00", "\U0001f600"])
    assert server.inputs == [["\ufffd", "\x00", "\U0001f600"]]
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-6)


def test_prompts_go_before_the_texts_of_their_kind(server: Server) -> None:
    prompted = server.embedder(query_prompt="query: ", document_prompt="passage: ")
    prompted.embed(["a"], kind="query")
    prompted.embed(["a"])
    assert server.inputs == [["query: a"], ["passage: a"]]
    assert prompted.identity.revision != server.embedder().identity.revision


def test_dimensions_are_asked_for_once(server: Server) -> None:
    client = server.embedder()
    assert client.identity.dimensions == client.identity.dimensions == DIMENSIONS
    assert client.embed([]).shape == (0, DIMENSIONS)
    assert len(server.seen) == 1


def test_given_dimensions_are_sent_with_each_request(server: Server) -> None:
    client = server.embedder(dimensions=4)
    assert client.identity.dimensions == 4
    assert not server.seen
    assert client.embed(["a"]).shape == (1, 4)
    assert server.seen[0][2]["dimensions"] == 4


def test_a_row_of_another_length_is_an_error(server: Server) -> None:
    client = server.embedder()
    client.embed(["a"])
    server.script = [embeddings(dimensions=5)]
    with pytest.raises(EmbedderError, match="rows of 5 numbers, not 8"):
        client.embed(["b"])


def test_settings_come_from_the_environment(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url + "/")
    monkeypatch.setenv("OPENAI_API_KEY", f" {KEY}\n")
    with OpenAIEmbedder("m") as client:
        client.embed(["a"])
    assert server.seen[0][0] == "/v1/embeddings"
    assert server.seen[0][1]["Authorization"] == f"Bearer {KEY}"


def test_only_the_public_endpoint_needs_a_key(server: Server) -> None:
    with pytest.raises(EmbedderError, match="OPENAI_API_KEY"):
        OpenAIEmbedder("m")
    server.embedder().embed(["a"])
    assert "Authorization" not in server.seen[0][1]


def test_a_key_that_no_header_can_carry_is_refused_without_quoting_it() -> None:
    with pytest.raises(InvalidInput) as caught:
        OpenAIEmbedder("m", api_key="sk-ключ\n1")
    assert "sk-" not in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"base_url": "localhost:8080"},
        {"base_url": "ftp://host"},
        {"base_url": "http://[::1"},
        {"base_url": "http://host:port/v1"},
        {"base_url": "http://host/v1?key=1"},
        {"batch_size": 0},
        {"request_chars": 0},
        {"text_chars": -1},
        {"timeout": 0.0},
        {"timeout": float("inf")},
        {"max_retries": -1},
        {"backoff": 0.0},
        {"dimensions": 0},
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        OpenAIEmbedder("m", **{"api_key": KEY, **options})
    with pytest.raises(InvalidInput):
        OpenAIEmbedder("", api_key=KEY)


def test_a_closed_embedder_opens_again(server: Server) -> None:
    with server.embedder() as client:
        client.embed(["a"])
    assert client.embed(["a"]).shape == (1, DIMENSIONS)
    client.close()
    client.close()


def test_without_httpx_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(EmbedderError, match=r"salience\[openai\]"):
        OpenAIEmbedder("m", api_key=KEY)
