"""Rules shared by several packages: checkpoint states, names and limits, metadata, marks. Pure, like every `core` package."""
