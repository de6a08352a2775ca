"""Upserts: items whose ids memories have replace these, or are skipped."""

from salience.write.upsert.plan import OnConflict, Upserts, conflict_rule, replace, skip

__all__ = ["OnConflict", "Upserts", "conflict_rule", "replace", "skip"]
