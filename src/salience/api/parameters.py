"""Parameters: each stated once, where a method or a class of options declares it.

The signature has its name, default, type and bounds, as `limit: Annotated[int, Between(1, 1000)]`;
the docstring beside it says what it means. `parameters` reads both, and every door reads that.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from functools import cache
from textwrap import dedent, indent
from types import SimpleNamespace
from typing import Any, Final, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from salience.lazily import dataclass

F = TypeVar("F", bound=Callable[..., Any])


class _NotGiven:
    def __repr__(self) -> str:
        return "NOT_GIVEN"


NOT_GIVEN: Final = _NotGiven()
"""The default of what is not given, where None would be a value."""


class Between(NamedTuple):
    """The least and the largest number that a parameter takes."""

    least: int
    most: int | None = None

    @property
    def keywords(self) -> dict[str, Any]:
        """The bounds in the words of JSON schema."""
        most = {} if self.most is None else {"maximum": self.most}
        return {"minimum": self.least, **most}


class Bounds:
    """The bounds of the values that a parameter takes, in the words of JSON schema.

    "$ref" and "anyOf" take the place of the schema of the type. `items` are the bounds of each
    item, `values` of each value of a mapping, `names` the keys that this may have.
    """

    def __init__(self, **keywords: Any) -> None:
        self.keywords = keywords

    @classmethod
    def of(cls, name: str) -> Bounds:
        """The bounds that the component of a name has in the document of the server."""
        return cls(**{"$ref": f"#/components/schemas/{name}"})


@dataclass(frozen=True)
class Parameter:
    """A parameter: its type with the bounds, its default, and what it means."""

    name: str
    type: Any
    default: Any
    meaning: str

    @property
    def plain(self) -> Any:
        """The type without bounds."""
        return plain(self.type)

    @property
    def choices(self) -> tuple[str, ...]:
        """The texts that it takes, where these are only some."""
        return _choices(self.type)


def _choices(annotation: Any) -> tuple[str, ...]:
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    for part in (*getattr(annotation, "__metadata__", ()), *get_args(annotation)):
        bounds = part.keywords if isinstance(part, Bounds) else {}
        choices = {**bounds.get("items", {}), **bounds}.get("enum") or _choices(part)
        if choices:
            return tuple(choices)
    return ()


def plain(annotation: Any) -> Any:
    """An annotation without the bounds in it."""
    return get_type_hints(SimpleNamespace(__annotations__={"": annotation}))[""]


@cache
def parameters(method: Callable[..., Any]) -> Mapping[str, Parameter]:
    """The parameters of a method by name, with the options that it takes."""
    hints = get_type_hints(method, include_extras=True)
    if method in _TAKEN:
        hints |= get_type_hints(_TAKEN[method].options, include_extras=True)
    means = descriptions(method)
    return {
        name: Parameter(name, hints.get(name, Any), each.default, means.get(name, ""))
        for name, each in inspect.signature(method).parameters.items()
        if name != "self"
    }


# Options: the keyword arguments that a method passes on


class _Taken(NamedTuple):
    signature: inspect.Signature
    options: type


_TAKEN: dict[Callable[..., Any], _Taken] = {}


def with_options(*declared: type, defaults: Mapping[str, Any]) -> Callable[[F], F]:
    """A decorator that shows the options of a method, which passes them on as `**options`.

    The options of the last class replace the last parameter of the signature; the descriptions in
    the docstrings of all follow those of the arguments in that of the method.
    """

    def show(method: F) -> F:
        taken = _TAKEN[method] = _Taken(inspect.signature(method), declared[-1])
        keyword = inspect.Parameter.KEYWORD_ONLY
        options = [
            inspect.Parameter(name, keyword, default=defaults.get(name), annotation=kind)
            for name, kind in get_type_hints(declared[-1]).items()
        ]
        parameters_shown = [*taken.signature.parameters.values()][:-1] + options
        method.__signature__ = taken.signature.replace(parameters=parameters_shown)  # type: ignore[attr-defined]
        texts = (inspect.cleandoc(part.__doc__ or "").partition("\n\n")[2] for part in declared)
        descriptions_text = indent("\n".join(texts), "    ").rstrip("\n") + "\n"
        before, arguments, after = _sections(method.__doc__ or "")
        if arguments:
            method.__doc__ = f"{before}{arguments}\n{descriptions_text}{after}"
        return method

    return show


def plain_signature(method: Callable[..., Any]) -> inspect.Signature:
    """The signature of a method as it is written, without the options that `with_options` shows."""
    return _TAKEN[method].signature if method in _TAKEN else inspect.signature(method)


def _sections(docstring: str) -> tuple[str, str, str]:
    """A docstring up to the descriptions of the arguments, these, and the rest."""
    before, heading, remainder = inspect.cleandoc(docstring).partition("Args:\n")
    arguments, gap, after = remainder.partition("\n\n")
    return before + heading, arguments.rstrip("\n"), gap[1:] + after


def descriptions(owner: Any) -> dict[str, str]:
    """The descriptions of the arguments of a function, or of the fields of a class, by name."""
    docstring = inspect.getdoc(owner) or ""
    if isinstance(owner, type):
        section = docstring.partition("\n\n")[2]
    else:
        section = dedent(_sections(docstring)[1])
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
