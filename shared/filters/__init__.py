"""The one language in which people filter and order lists: its words, and the tree that they are read into."""
