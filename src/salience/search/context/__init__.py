"""Context: what an agent is given to read, out of several sections, never over a token budget.

sections   what a section is, and the memories it draws on   (sections.py)
formats    pieces as text, markdown, xml or messages         (formats.py)
packing    what fits, and how budgets flow                   (packing.py)
assembly   sections -> packed pieces -> Context              (assembly.py)
"""

from salience.search.context.assemble import Context, Filled, Provenance, assemble
from salience.search.context.formats import FORMATS, Format
from salience.search.context.sections import Section, SectionLike

__all__ = [
    "FORMATS",
    "Context",
    "Filled",
    "Format",
    "Provenance",
    "Section",
    "SectionLike",
    "assemble",
]
