"""Routes: the operations of the table, and the functions of those that do more than pass on."""

from salience.api.operations import GROUPS
from salience.server.operation import OPERATIONS
from salience.server.routes import keys, memories, methods, system

__all__ = ["OPERATIONS", "keys", "memories", "methods", "system"]

OPERATIONS[:0] = methods.operations()
OPERATIONS.sort(key=lambda each: [*GROUPS].index(each.tag))
