"""Every test of this folder runs over HTTP as well, there as `deep`."""

from support.served import transport

__all__ = ["transport"]
