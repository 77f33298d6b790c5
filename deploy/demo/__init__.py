"""The demonstration for `make demo`: a real search through every service, checked at each step."""
