"""Run searches: load and lock them, apply events, save and emit; also replays and driver programs."""
