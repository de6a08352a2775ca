"""The table of operations, and the words that tell of their arguments, for every door."""
