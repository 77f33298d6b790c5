"""Communication with workers: desired sets out, observed sets in, and how a machine joins."""
