"""Access: keys with scopes and namespaces, kept in the store and checked at every door."""
