"""Executors of the processes of runs: a port, and its implementation with local processes."""
