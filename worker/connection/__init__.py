"""The line to the platform: who this worker is, that it lives, and what it does while nobody answers."""
