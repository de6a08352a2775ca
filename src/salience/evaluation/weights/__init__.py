"""The weights of a profile: fitted to questions, and each part left out in turn."""
