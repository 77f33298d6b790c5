"""The daemon on one machine: it manages processes and journals, and makes no scheduling decisions."""
