"""Search methods: how trials are stopped, promoted or copied. `port` defines the interface, `factory` creates the configured one."""
