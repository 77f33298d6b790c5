"""The scheduler's world: `records` of what there is, `indexes` that follow from them, and `cluster`, which holds both and applies changes."""
