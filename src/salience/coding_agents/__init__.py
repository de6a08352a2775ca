"""Hooks of coding agents: recall for a repository, and what is kept of a session.

A hook is a new process for every prompt, so `hook` is small: it hands the event to a warm process,
`daemon`, and prints the answer. There `handling` decides: `recall` finds what the agent is told,
`rules` what is kept of a transcript.
"""
