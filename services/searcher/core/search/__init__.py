"""The search of one experiment: a method and a sampler, advanced by the events of its journal."""
