"""Pools as currently defined by their definitions and the catalogue file."""
