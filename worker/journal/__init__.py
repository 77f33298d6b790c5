"""What ranks report and write, kept on disk until the registry has it."""
