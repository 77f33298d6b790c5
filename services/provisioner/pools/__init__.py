"""Pools as their definitions and the catalogue's file have them now."""
