"""The journal of a search: what is written down of each step, and how a search is rebuilt and checked by it."""
