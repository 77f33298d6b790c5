"""Preparation of a run before its ranks start: disk space, code, environment, checkpoint, hook."""
