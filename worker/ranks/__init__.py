"""The worker's end of the ranks' socket: `server` takes connections, `session` is one run's conversation."""
