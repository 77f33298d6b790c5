"""The worker's decisions, as pure functions: no clock, disk or network."""
