"""Rows of contents, files and bytes."""
