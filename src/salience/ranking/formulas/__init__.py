"""The formulas of a profile as a reader sees them: as text, and as the parts of the score."""
