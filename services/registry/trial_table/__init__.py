"""The table of an experiment's trials: its columns, filters and orders."""
