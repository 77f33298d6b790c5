"""Experiments, trials and runs of others, as far as needed here: whose a run's reports are, and whether its token is good."""
