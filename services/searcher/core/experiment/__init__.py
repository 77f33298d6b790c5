"""Experiments and trials: their records, their states as tables, what their results mean, and how they end."""
