"""The tables of all slices; each slice reads and writes its own in its `store`."""
