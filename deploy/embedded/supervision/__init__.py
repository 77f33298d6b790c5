"""Supervision of processes, and clean-up of leftover ones."""
