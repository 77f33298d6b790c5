"""What would one experiment cost, and when would it end? `answering` gathers what is known and has a `player`, a process of its own, play the
search in several futures (`playing`): on a pool as it stands (`standing`, `crowd`), as earlier trials learned (`memory`) or as a model has
it; `telling` puts the futures together."""
