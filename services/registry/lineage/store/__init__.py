"""The graph as the tables hold it."""
