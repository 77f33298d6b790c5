"""The daemon on one machine: it keeps processes and journals, and decides nothing about who gets what."""
