"""The scheduler's in-memory state: `records` hold the entities, `indexes` are derived from them, `cluster`
holds both and applies changes."""
