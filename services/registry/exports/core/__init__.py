"""Rows as tables of Arrow, in files of one size."""
