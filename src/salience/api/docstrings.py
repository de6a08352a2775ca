"""Docstrings: the descriptions of arguments and fields in them, written as "name: text"."""

from __future__ import annotations

import inspect
import re
from textwrap import dedent
from typing import Any

from salience.lazily import regex

_ARGUMENTS = regex(r"^Args:\n(.*?)(?=^\S|\Z)", re.M | re.S)


def descriptions(owner: Any) -> dict[str, str]:
    """The descriptions of the arguments of a function, or of the fields of a class, by name."""
    docstring = inspect.getdoc(owner) or ""
    if isinstance(owner, type):
        section = docstring.partition("\n\n")[2]
    else:
        section = "".join(map(dedent, _ARGUMENTS.findall(docstring)))
    texts: dict[str, list[str]] = {}
    name = ""
    for line in section.splitlines():
        start = re.match(r"(\w+): (.*)", line)
        if start:
            name = start[1]
        if name:
            texts.setdefault(name, []).append(start[2] if start else line.strip())
    return {name: sentence(" ".join(parts).strip()) for name, parts in texts.items()}


def sentence(text: str) -> str:
    """A text that begins with a capital letter and ends with a full stop."""
    return text[:1].upper() + text[1:].rstrip(".") + "." if text else text
