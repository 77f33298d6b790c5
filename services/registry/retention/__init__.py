"""Retention rules of tenants and workspaces."""
