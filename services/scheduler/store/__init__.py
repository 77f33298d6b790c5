"""Tables and queries of the scheduler. `load` reads a world at the start of a term, `save` writes what a cycle changed,
`requests` and `workers` hold what handlers and queries write."""
