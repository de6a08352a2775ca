"""The contract between ranking and stores: queries, routes, operations, plans, candidates."""
