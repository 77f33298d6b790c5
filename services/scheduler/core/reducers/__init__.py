"""What happens to the world: each `on_…` is an event that reads the cluster and returns what it changes. None can fail for reasons outside."""
