"""Files that come and go through signed URLs: code, checkpoints."""
