"""The leader's loop: observe providers (`observed_state`), decide and record (`loop`), and act (`driver_calls`, `outcomes`, `orphans`)."""
