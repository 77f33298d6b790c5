"""Lifecycle of an instance: the launch that created it, the outcomes of effects on it, and launches paused after refusals."""
