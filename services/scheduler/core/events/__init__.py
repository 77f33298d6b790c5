"""What happens to the world: each function is an event that advances the cluster, and cannot fail for reasons outside."""
