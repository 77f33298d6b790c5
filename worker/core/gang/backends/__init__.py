"""Launch backends that turn the processes of a run into a gang: one port, and one implementation for each value of `distributed`."""
