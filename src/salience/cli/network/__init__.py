"""Commands of the network side."""
