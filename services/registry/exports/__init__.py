"""What an experiment has in bulk, as files for a day."""
