"""Rows of series and their chunks."""
