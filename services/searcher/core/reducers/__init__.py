"""Apply events to an experiment: one function per event, all of which fill the same `Changes`."""
