"""The table of an experiment's trials: columns, filters and sorts."""
