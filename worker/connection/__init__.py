"""The connection to the platform: identity, heartbeats, and behaviour while the platform is unreachable."""
