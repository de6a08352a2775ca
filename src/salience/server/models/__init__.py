"""Models: the arguments of methods as JSON, the filter grammar, and the schemas of results."""
