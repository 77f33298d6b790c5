"""Columns, filters and rows in SQL."""
