"""Reports and output of ranks, stored on disk until the registry has them."""
