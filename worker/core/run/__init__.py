"""The life of a run on this machine: its states, what each event makes of it, what has to be done about it."""
