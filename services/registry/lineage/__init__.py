"""Lineage: what model versions were made from, and what was made from other entities."""
