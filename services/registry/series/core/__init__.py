"""Points in columns, what counts of them, and what is left of many."""
