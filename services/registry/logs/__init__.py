"""Lines of ranks: packed into objects, looked through wherever they lie."""
