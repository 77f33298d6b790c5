"""Tables of all packages; each package reads and writes its own in its `store`."""
