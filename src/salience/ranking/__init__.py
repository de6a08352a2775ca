"""How candidates are scored, as data: expressions, signals, stages and profiles."""
