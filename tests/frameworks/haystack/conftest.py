"""Haystack's tests of document stores have some that are awaited."""

from support.awaiting import pytest_configure, pytest_pyfunc_call

__all__ = ["pytest_configure", "pytest_pyfunc_call"]
