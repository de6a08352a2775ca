"""Programs that speak MCP, and the files that list their servers.

`programs` knows where each has its file and what an entry looks like; `jsonc` and `toml_tables`
change one entry of a text and leave the rest as it is; `files` writes; `doctor` looks whether it
works.
"""
