"""The demonstration that `make demo` runs: a real search through every service, checked at each step."""
