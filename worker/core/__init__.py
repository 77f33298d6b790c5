"""What the worker decides, without clock, disk or network."""
