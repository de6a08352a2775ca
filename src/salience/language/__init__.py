"""The words of a text: tokens, entities, dates and speakers, and the analysis of a query."""
