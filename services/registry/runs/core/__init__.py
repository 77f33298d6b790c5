"""Fencing by tokens, and datasets named in configs."""
