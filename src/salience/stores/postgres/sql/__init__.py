"""Pure functions from filters, expressions and routes to SQL."""
