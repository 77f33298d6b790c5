"""The searcher's decisions: pure, synchronous, and equal for equal input."""
