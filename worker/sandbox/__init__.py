"""Isolation of trials from the machine: their user, and safe access to their files."""
