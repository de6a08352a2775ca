"""Profiles over the network: names and inline objects, never paths or code."""

from __future__ import annotations

from typing import Any

from salience.errors import InvalidInput, shown


def check_profile(profile: Any) -> None:
    """Refuse a text that might be taken for a file or for code.

    Raises:
        InvalidInput: it ends in .json, or has a slash or a colon.
    """
    if isinstance(profile, str) and (profile.endswith(".json") or set(profile) & set("/\\:")):
        raise InvalidInput(
            "profile",
            f"{shown(profile)} is no name of a profile",
            "give the name of one (GET /v1/profiles lists them), or the JSON object itself",
        )
