"""Keeping processes running, and ending what is left over."""
