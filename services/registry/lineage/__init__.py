"""Where versions come from, and what came of things."""
