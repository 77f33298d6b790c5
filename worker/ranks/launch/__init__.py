"""Launch frames for the processes of an allocation."""
