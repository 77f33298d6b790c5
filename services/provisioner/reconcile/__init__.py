"""The leader's loop: it looks at the providers (`view`), decides and records (`loop`), and acts (`effects`, `outcomes`, `garbage`)."""
