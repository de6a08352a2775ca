"""Every test of this folder runs over HTTP as well."""

from support.served import transport

__all__ = ["transport"]
