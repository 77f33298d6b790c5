"""Upload of announced checkpoints to the store, and restore of the newest one before a run starts."""
