"""Lines in chunks, filters of their letters, and what a search matches."""
