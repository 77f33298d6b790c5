"""Private networks of runs: namespaces, packet filter, gangs over VXLAN."""
