"""Experiments of a workload: what is submitted, and how its trials would learn."""
