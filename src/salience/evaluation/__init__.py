"""Measuring: the quality of recall on conversations with known answers, and its speed."""
