"""Metric points and summaries: stored in chunks, thinned with age, read as curves."""
