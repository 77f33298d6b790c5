"""Budget of a search: its limits, the usage of its runs, and forecasts for further trials."""
