"""The command import: files as memories, and folders that are kept in step."""

from salience.cli.importing.command import import_

__all__ = ["import_"]
