"""How trials are stopped, promoted or changed: `port` says what a method is, `factory` picks the one that a config names."""
