"""Column names, and the filter language."""
