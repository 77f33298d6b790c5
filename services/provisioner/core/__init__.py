"""Decisions of the provisioner: what to rent, what is to be done with each instance, and what one pass over a pool does."""
