"""What every store has in common where it looks for damage: its findings, and the quarantine."""
