"""Observation of a run while its ranks train: heartbeats, resource usage, phases."""
