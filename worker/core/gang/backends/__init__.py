"""How the processes of a run become a gang: one port, and an implementation for each value of `distributed`."""
