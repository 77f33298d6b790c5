"""What follows from records: what is free, what waits, who holds what, what was learned. The cluster alone advances them."""
