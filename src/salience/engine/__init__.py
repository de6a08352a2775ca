"""`Memory` and `AsyncMemory`: check the arguments, run one plan."""
