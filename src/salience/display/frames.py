"""Tables of pandas, which is looked for when one is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from salience.display.result import Result
from salience.errors import SalienceError


def data_frame(rows: Sequence[Result], columns: Sequence[str]) -> Any:
    """A pandas DataFrame with a row for each result, and a column for each of its attributes.

    Raises:
        SalienceError: pandas is not installed.
    """
    try:
        pandas = import_module("pandas")
    except ImportError:
        raise SalienceError(
            "to_pandas needs pandas, which is not installed; pip install 'salience[pandas]'"
        ) from None
    return pandas.DataFrame({name: [getattr(row, name) for row in rows] for name in columns})
