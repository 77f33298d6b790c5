"""Log lines of ranks: stored in chunks, packed into objects, and searched in both."""
