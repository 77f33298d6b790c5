"""One experiment's search: a method and a sampler behind one index that the events of its journal advance."""
