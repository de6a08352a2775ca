"""Extraction: facts out of messages, by a chat endpoint or a function."""

from salience.engine.extraction.adding import ExtractLike, finder_of
from salience.engine.extraction.endpoint import Extractor, Fact, FactFinder, Turn

__all__ = ["ExtractLike", "Extractor", "Fact", "FactFinder", "Turn", "finder_of"]
