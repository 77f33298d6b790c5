"""Deletion of an experiment, a workspace or a tenant."""
