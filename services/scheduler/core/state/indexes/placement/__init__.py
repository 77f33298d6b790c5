"""Where runs go: the index of free slots, with the machines of each domain, shared slots, and labels."""
