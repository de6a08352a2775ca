"""For tests: what a store has to do (`conformance`), and an embedder that needs no model."""

from recollect.testing.embedder import WordHashEmbedder

__all__ = ["WordHashEmbedder"]
