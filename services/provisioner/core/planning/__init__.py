"""One pass over a pool: compare demand with machines, and plan launches, drains and effects."""
