"""Upkeep: what keeps a store of memories healthy, each step previewed, recorded and undone.

A step that changes something is a run: its events carry the run's name, by which it is undone.
"""
