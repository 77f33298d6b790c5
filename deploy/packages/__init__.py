"""The packages that machines install from the gateway."""
