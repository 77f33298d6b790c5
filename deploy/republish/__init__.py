"""`muster republish`: has services say again how each of their entities is."""
