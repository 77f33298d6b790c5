"""The committed mark of a source: which record it expects next. Neighbour: `ingest/store.py` moves the mark's row."""

FIRST_RECORD = 1
"""A journal numbers its records from here, without gaps."""


def has_reached(next_record: int, record: int) -> bool:
    """Return whether everything up to and including `record` is committed."""
    return next_record > record
