"""Experiments, trials and runs of other services, as far as the registry needs them: who may report for a run, and whether its token is valid."""
