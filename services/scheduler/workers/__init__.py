"""The way to the workers: desired sets out, observed sets in, and how a machine joins."""
