"""Rows as Arrow tables, in files of similar size."""
