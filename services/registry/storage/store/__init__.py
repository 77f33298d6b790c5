"""Rows of contents, files and byte counts."""
