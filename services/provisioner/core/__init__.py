"""Decisions of the provisioner: which machines to rent, what each instance needs, and what one pass over a pool does."""
