"""Plans that read: search, a context within a token budget, comparisons, explanations."""
