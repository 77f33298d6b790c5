"""The object store: keys, presigned URLs, shared contents and storage limits."""
