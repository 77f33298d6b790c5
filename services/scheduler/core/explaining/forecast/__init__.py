"""Forecasts of when a waiting request will start: `remaining_times` estimates run durations,
`free_units` when slots become free, `start` the order of requests."""
