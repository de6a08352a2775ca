"""The connection to a server: commands, transactions, retries, types."""
