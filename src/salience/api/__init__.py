"""What can be asked of a memory, as data that every door reads."""
