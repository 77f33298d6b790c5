"""Points and their summaries: in chunks, thinned with age, read as curves."""
