"""Extraction: facts out of messages, by a chat endpoint or a function."""

from salience.engine.extraction.endpoint import Extractor, Fact, FactFinder, Turn
from salience.engine.extraction.finder import ExtractLike, finder_of

__all__ = ["ExtractLike", "Extractor", "Fact", "FactFinder", "Turn", "finder_of"]
