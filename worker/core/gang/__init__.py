"""Who trains with whom: the members of a gang, their ranks, and how these meet."""
