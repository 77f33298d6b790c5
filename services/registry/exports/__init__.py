"""Exports of an experiment's data as files, kept for a day."""
