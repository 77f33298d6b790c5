"""The leader's loop: observe providers (`view`), decide and record (`loop`), and act (`effects`, `outcomes`, `garbage`)."""
