"""Ways to use the library from outside Python."""
