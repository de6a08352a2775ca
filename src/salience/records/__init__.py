"""What is kept: memories, links, their fields, filters over them, and events."""
