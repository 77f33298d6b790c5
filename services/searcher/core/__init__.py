"""Pure, synchronous and deterministic decisions of the searcher: equal inputs give equal outputs."""
