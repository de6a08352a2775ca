"""Checks of a file before it is trusted: who has it open, whose log it is, its checksums."""
