"""Explanations: why a request waits, who holds the slots that it waits for, and which changes would let it start."""
