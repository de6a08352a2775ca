"""Refusals of arguments, in the words of an embedded memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from salience.engine.memory import Memory
from salience.errors import InvalidInput, SalienceError
from salience.records.validation import boolean
from salience.write.idempotency import key_reused


def refuse_rewrite(rewrite: Any) -> None:
    """Refuse to rewrite a whole store from afar.

    Raises:
        InvalidInput: it was asked for.
    """
    if boolean("rewrite", rewrite):
        raise InvalidInput(
            "rewrite", "locks a store that others use", "rewrite it where the server runs"
        )


def as_embedded(name: str, arguments: Mapping[str, Any], problem: InvalidInput) -> InvalidInput:
    """The error by which an embedded memory refuses the arguments of a method.

    That is asked of an empty one, which knows what is wrong more exactly than whoever could not
    send the arguments, or could not read them. Where it takes them, the error is the `problem`,
    and so it is where the server alone knows what is wrong.
    """
    if problem.problem == key_reused().problem:
        return problem
    try:
        with Memory("ram://", embedder=None) as memory:
            getattr(memory, name)(**arguments)
    except InvalidInput as own:
        for note in getattr(problem, "__notes__", ()):
            own.add_note(note)
        return own
    except SalienceError:  # such as a memory that is not there
        pass
    return problem
