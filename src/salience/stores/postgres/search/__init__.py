"""One search: at most two round trips."""
