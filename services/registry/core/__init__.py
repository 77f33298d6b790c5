"""Decisions of the registry: pure functions over plain data."""
