"""Where the processes of runs live: a port, and its implementation by processes of this machine."""
