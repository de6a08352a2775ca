from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience.access.plans import KeyText


def test_a_key_has_an_id_a_secret_of_256_bits_and_a_checksum() -> None:
    prefix, id, secret, check = str(KeyText.random()).split("_")
    assert (prefix, len(id), len(secret), len(check)) == ("sal", 8, 43, 6)
    assert 62**43 > 2**256
    assert set(id + secret + check) <= set(string.ascii_letters + string.digits)


def test_no_two_keys_are_alike() -> None:
    keys = [KeyText.random() for _ in range(200)]
    assert len({key.id for key in keys}) == len({key.secret for key in keys}) == 200


def test_a_key_is_read_again() -> None:
    key = KeyText.random()
    assert KeyText.parse(str(key)) == key


def test_a_secret_is_not_shown_by_accident() -> None:
    key = KeyText.random()
    assert key.secret not in repr(key)
    assert key.secret not in f"{[key]}"


@given(st.integers(0, 65), st.sampled_from(string.ascii_letters + string.digits + "_ \n"))
def test_one_wrong_character_is_found_without_a_look_up(place: int, character: str) -> None:
    text = "sal_0bYGm3Qw_" + "k7Rz" * 10 + "abc"
    key = str(KeyText(text[4:12], text[13:]))
    mistyped = key[:place] + character + key[place + 1 :]
    assert (KeyText.parse(mistyped) is None) == (mistyped != key)


@pytest.mark.deep
@given(st.text())
def test_other_texts_are_no_keys(text: str) -> None:
    assert KeyText.parse(text) is None
    assert KeyText.parse(f"sal_{text}") is None


def test_space_around_a_key_is_no_part_of_it() -> None:
    key = str(KeyText.random())
    for other in (f" {key}", f"{key}\n", key.upper(), key.lower(), key + "0"):
        assert KeyText.parse(other) is None
