"""The doctor of a PostgreSQL store: the database, then each namespace, row by row.

Each check is made after what the ones before have mended. What is taken out goes to the quarantine.
The bytes are the server's to guard, by its own checksums.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from salience.errors import StoreError
from salience.retrieval.safety import STRUCTURE, Finding
from salience.stores.findings import Problem, Quarantine
from salience.stores.postgres.safety.catalog import DatabaseChecks
from salience.stores.postgres.safety.namespace import NamespaceChecks
from salience.stores.postgres.wire.connection import Connections


def check_store(connections: Connections, *, fix: bool) -> tuple[tuple[Finding, ...], list[str]]:
    """Look for damage, and mend what can be with `fix`; the findings, and all namespaces.

    Raises:
        StoreError: the role does not see all namespaces.
    """
    if connections.database.row_security:
        raise StoreError(
            "row-level security hides namespaces from this role; look for damage as the owner of "
            "the tables"
        )
    checks = DatabaseChecks(connections)
    found = _mended(checks.problems(), fix)
    if any(each.check == STRUCTURE for each in found):
        return tuple(found), []
    quarantine = Quarantine(connections.database.name.replace("/", "_"))
    namespaces = checks.namespaces()
    for name in namespaces:
        problems = NamespaceChecks(connections, name, quarantine).problems()
        found += [
            replace(each, problem=f"{each.problem}, in {name!r}") for each in _mended(problems, fix)
        ]
    return tuple(found), namespaces


def _mended(problems: Iterator[Problem], fix: bool) -> list[Finding]:
    """The findings of problems, each mended before the next is looked for."""
    found: list[Finding] = []
    for problem in problems:
        finding = problem.finding
        if fix and problem.mend is not None:
            try:
                problem.mend()
                finding = replace(finding, fixed=True)
            except StoreError as error:
                finding = replace(finding, remedy=f"it could not be mended: {error}")
        found.append(finding)
    return found
