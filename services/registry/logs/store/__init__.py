"""Where lines lie: chunks, and objects."""
