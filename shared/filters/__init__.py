"""The filter language for lists: tokens, and the tree that filters are parsed into."""
