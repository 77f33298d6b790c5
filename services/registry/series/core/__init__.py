"""Points in columns, superseding, downsampling and summaries."""
