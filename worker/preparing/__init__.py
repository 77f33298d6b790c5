"""What a run needs before it starts: code, room, environment, hook."""
