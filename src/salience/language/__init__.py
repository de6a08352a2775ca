"""What words say: tokens, entities, dates, and the analysis of a query."""
