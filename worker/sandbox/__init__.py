"""What stands between a trial and the machine: the user that it runs as, and the safe opening of files that it owns."""
