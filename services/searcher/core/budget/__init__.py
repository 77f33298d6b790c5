"""What a search may use: its limits, what its runs have used, and what another trial is expected to take."""
