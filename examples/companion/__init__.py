"""A companion that remembers over sessions, corrects itself, and names its sources."""
