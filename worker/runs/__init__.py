"""The lifecycle of runs on this machine."""
