"""Files that come and go: code and checkpoints through signed URLs, media to the registry, and the caches of this machine."""
