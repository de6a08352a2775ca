"""For tests: the conformance suite of stores, an embedder without a model, a PostgreSQL server."""

from salience.testing.embedder import WordHashEmbedder

__all__ = ["WordHashEmbedder"]
