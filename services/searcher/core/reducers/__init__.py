"""Events in, changes out: one function for each event, each of which fills the same `Changes`."""
