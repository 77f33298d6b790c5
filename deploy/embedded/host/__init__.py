"""Machine resources: processes, ports, users, memory."""
