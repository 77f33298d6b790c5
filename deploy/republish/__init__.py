"""`muster republish`: requests services to publish their entities again."""
