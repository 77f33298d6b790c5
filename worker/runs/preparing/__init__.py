"""What a run needs before its ranks start: room, code, environment, checkpoint, hook."""
