"""The command line: `salience --help` lists what it can do.

Results go to stdout, everything else to stderr. Exit codes: 0 done, 1 nothing found or not all of
it done, 2 wrong input, 3 the store or the embedder cannot be used, 130 interrupted.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Sequence

from salience.coding_agents.hook import is_event, run
from salience.errors import EmbedderError, Locked, NotFound, SalienceError, StoreError

NOTHING, WRONG, UNUSABLE, INTERRUPTED = 1, 2, 3, 130
"""The exit codes besides 0."""
COMPLETION_VARIABLE = "_SALIENCE_COMPLETE"
"""The variable by which the script of a shell asks for completions."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line (by default that of the process) and return the exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    if words[:1] == ["hook"] and is_event(words):  # an agent waits: import nothing more
        return run(words[1], words[3] if len(words) > 2 else None)
    _ready_streams()
    if arguments is None:
        gc.set_threshold(50_000, 20, 20)  # a command makes next to no cycles to collect
    try:
        from salience.cli.app import app

        if COMPLETION_VARIABLE in os.environ:
            from salience.cli.completion import complete

            complete()
        app(None if arguments is None else list(arguments), prog_name="salience")
    except SystemExit as end:
        return _flushed(end.code if isinstance(end.code, int) else int(end.code is not None))
    except BrokenPipeError:
        return _flushed(NOTHING)
    except KeyboardInterrupt:  # while modules are imported; a command answers its own
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except SalienceError as problem:
        _complain(str(problem))
        return _flushed(_code(problem))
    except OSError as problem:
        _complain(f"{problem.filename or 'error'}: {problem.strerror or problem}")
        return WRONG
    return 0


def _ready_streams() -> None:
    """Replace closed streams by empty ones; escape what stdout cannot encode."""
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _code(problem: SalienceError) -> int:
    if isinstance(problem, (NotFound, Locked)):
        return NOTHING
    return UNUSABLE if isinstance(problem, (StoreError, EmbedderError)) else WRONG


def _complain(message: str) -> None:
    from salience.display.result import visible  # hooks need it as little as the rest

    print("salience:", visible(" ".join(message.split())), file=sys.stderr)


def _flushed(code: int) -> int:
    """Flush stdout and return the code; a reader that has gone is no error."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # Otherwise the interpreter would report the buffered rest at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code
