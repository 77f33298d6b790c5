"""Checkpoint rows and the queries of collection."""
