"""`muster status`: the report, and how people see it."""
