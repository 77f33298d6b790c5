"""Checkpoints on their way: announced ones to the store, the newest one back before a run starts."""
