"""The machine: its slots, kernel limits and counters, and the cloud provider's notices."""
