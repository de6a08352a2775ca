"""Recorded searches asked again: as questions with known answers, or under two profiles."""
