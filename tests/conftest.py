"""Settings that hold for every test."""

import os

from hypothesis import settings

# How long an example takes says how busy the machine is, not whether the law holds.
settings.register_profile("salience", deadline=None, max_examples=60)  # of 100, for its time
settings.load_profile("salience")

# What ranx compiles takes longer to compile than to interpret.
os.environ["NUMBA_DISABLE_JIT"] = "1"

# What a process keeps of a PostgreSQL database in memory is tried where it is asked for.
os.environ["SALIENCE_POSTGRES_MEMORY_MB"] = "0"
