"""Figures of an evaluation: with their uncertainty, beside those of a run before, and on a page."""
