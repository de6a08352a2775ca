"""Measuring: how good recall is on conversations with known answers, and how fast it is."""
