"""State that survives a restart of the daemon."""
