"""Forecasts of when a waiting request will start: `lengths` estimates run durations, `free_units` when slots become
free, `start` the order of requests."""
