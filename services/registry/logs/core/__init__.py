"""Log lines in columns, n-gram filters over their text, and matching."""
