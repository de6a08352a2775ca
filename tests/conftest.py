"""What holds for every test."""

from hypothesis import settings

# How long an example takes says how busy the machine is, not whether the law holds.
settings.register_profile("recollect", deadline=None)
settings.load_profile("recollect")
