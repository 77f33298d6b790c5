"""Rows of checkpoints and what collection sees."""
