"""Experiments of a workload: what is submitted, and how their trials would learn."""
