"""Tables and queries of the scheduler. `load` reads the state at the start of a term, `save` writes the changes
of a cycle, `requests` and `workers` contain what handlers and queries write."""
