"""What must survive a restart of the daemon."""
