"""`muster keys`: revoke and rotate keys of a running platform."""
