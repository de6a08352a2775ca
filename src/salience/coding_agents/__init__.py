"""Hooks of coding agents: what they are told of a repository, and what is kept of a session."""
