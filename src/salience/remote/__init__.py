"""Remote: `Memory` and `AsyncMemory` over HTTP, and a client in the shapes of others."""
