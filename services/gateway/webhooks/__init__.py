"""Telling addresses that tenants named what has happened."""
