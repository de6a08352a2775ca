"""Records: memories, links, their fields, filters over them, and events."""
