"""Compatible routes: the paths that clients of other memories ask."""
