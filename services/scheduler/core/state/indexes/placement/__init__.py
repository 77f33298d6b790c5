"""Placement: the index of free slots, with topology domains, shared slots and labels."""
