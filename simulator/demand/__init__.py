"""Demand in a simulation: trials without a search, and reservations."""
