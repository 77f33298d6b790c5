"""Storage of log lines: chunks and objects."""
