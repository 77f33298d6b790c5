"""Rate limits and concurrency limits of tenants and replicas."""
