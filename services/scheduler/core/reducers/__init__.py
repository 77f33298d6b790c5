"""Events that change the state: each `on_…` reads the cluster and returns the changes. None can fail for
external reasons."""
