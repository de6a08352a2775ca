"""MCP: tools, resources and prompts for models, by the Model Context Protocol.

settings    what a configuration decides: which tools there are, and how long an answer may be
parameters  parameters that several tools share
addresses   addresses of memories
tool        what a tool is: a function with its schemas, the scope it needs, and its hints
tools/      the tools
outputs     memories as structured content and as text, within a budget of tokens
hints       what to try where a search found little
resources   the profile and each memory, by their addresses
prompts     what people pick from a menu
app         the view of an explanation, in programs that show one
errors      errors that a model can act on
server      the handlers of the protocol, the same for every transport
stdio       the server over stdin and stdout
"""
