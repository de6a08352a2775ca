"""Re-embedding a store in steps, while it is in use."""
