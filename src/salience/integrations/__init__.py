"""Memories in the shapes of other frameworks: one module a framework, none imports another."""
