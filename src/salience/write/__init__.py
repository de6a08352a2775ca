"""Plans that add and change memories: items, dedup, chats, links, judgments."""
