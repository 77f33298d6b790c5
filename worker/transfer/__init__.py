"""Transfer of files: code and checkpoints through signed URLs, media to the registry, and this machine's caches."""
