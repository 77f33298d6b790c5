"""Checkpoints: announce, upload, verify, commit, maintain, collect."""
