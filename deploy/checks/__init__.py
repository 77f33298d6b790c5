"""Checks for operators: `muster config check` (settings) and `muster doctor` (machine, servers, certificates)."""
