"""How trials are stopped, promoted or changed: `port` says what a method is, `choose` picks the one that a config names."""
