"""Statements: the attribute that a short fact gives to its subject, read by rules of English.

"Ana lives in Berlin" and "Ana moved to Lisbon" state one attribute of one subject with two values,
so only one of them can hold. "Ana likes jazz" states nothing that "Ana likes rock" would exclude.
What no rule reads still contradicts its own denial: "Ben eats fish", "Ben doesn't eat fish".
"""

from salience.language.statements.reading import Statement, statement_of

__all__ = ["Statement", "statement_of"]
