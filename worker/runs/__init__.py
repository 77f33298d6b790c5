"""A run on this machine, from the first event to the last."""
