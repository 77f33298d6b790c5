"""Tables and queries of the registry, one file per entity. Every function works inside the caller's transaction."""
