"""`muster status`: the report and its display."""
