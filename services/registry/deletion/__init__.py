"""What goes with an experiment, a workspace or a tenant."""
