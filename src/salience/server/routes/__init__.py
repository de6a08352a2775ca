"""Routes: one function for each operation, which parses, calls a method and renders its result."""
