"""Columns by name, and the language of filters."""
