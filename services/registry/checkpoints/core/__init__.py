"""Which checkpoints go, whose parts make one up, and what an ended run's wait for."""
