"""Plans of upkeep: zones, pruning, consolidation, audits, undo, verification."""
