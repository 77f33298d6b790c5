"""Experiments and trials: records, state machines, objectives, and how they end."""
