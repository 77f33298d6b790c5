"""What a machine gives: processes, ports, users, memory."""
