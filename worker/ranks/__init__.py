"""Ranks of runs: `launch` starts them, `server` accepts their connections, `session` handles one run's messages."""
