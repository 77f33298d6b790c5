"""Webhooks: send events to URLs of tenants."""
