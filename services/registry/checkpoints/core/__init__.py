"""Rules for checkpoints: retention, shards of a gang, and settling of ended runs."""
