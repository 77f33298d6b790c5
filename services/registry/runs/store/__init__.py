"""Rows of experiments, trials and runs."""
