"""Committed marks of sources: the next record that each expects. `ingest/store.py` updates their rows."""

FIRST_RECORD = 1
"""Journals number their records from here, without gaps."""


def has_reached(next_record: int, record: int) -> bool:
    """Return whether all records up to and including `record` are committed."""
    return next_record > record
