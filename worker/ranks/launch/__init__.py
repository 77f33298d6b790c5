"""From an allocation to the processes of one machine."""
