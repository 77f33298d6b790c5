"""The ranks of runs: `launch` starts them, `server` takes their connections, `session` is one run's conversation."""
