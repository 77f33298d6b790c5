"""Media: receiving packs, queries, and retention."""
