"""The object store: keys and signed URLs, contents that checkpoints share, and how many bytes there is room for."""
