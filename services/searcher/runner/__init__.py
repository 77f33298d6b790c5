"""What runs searches: loads and locks them, applies events, saves and emits; and the processes and programs around them."""
