"""Scoring of candidates as data: expressions, signals, stages and profiles."""
