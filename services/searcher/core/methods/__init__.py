"""Search methods: how trials are stopped, promoted or copied. `interface` defines the interface, `factory` creates the configured one."""
