"""Context: a text for an agent to read, made of several sections, never over a token budget.

sections   what a section is, and the memories it draws on
formats    pieces as text, markdown, xml or messages
packing    what fits, and how budgets flow
assemble   sections -> packed pieces -> Context
"""

from salience.search.context.assemble import (
    CONTEXT_DEFAULTS,
    Context,
    ContextOptions,
    ContextRequest,
    Filled,
    Provenance,
    TextOptions,
    assemble,
    context_request,
)
from salience.search.context.packing import FORMATS, Format
from salience.search.context.sections import Section, SectionLike

__all__ = [
    "CONTEXT_DEFAULTS",
    "FORMATS",
    "Context",
    "ContextOptions",
    "ContextRequest",
    "Filled",
    "Format",
    "Provenance",
    "Section",
    "SectionLike",
    "TextOptions",
    "assemble",
    "context_request",
]
