"""Server: REST over `AsyncMemory`, with keys, limits, metrics and an exact OpenAPI document."""
