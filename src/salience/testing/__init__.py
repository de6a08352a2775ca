"""For tests: what a store has to do (`conformance`), and an embedder that needs no model."""

from salience.testing.embedder import WordHashEmbedder

__all__ = ["WordHashEmbedder"]
