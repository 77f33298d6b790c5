"""Stages and names."""
