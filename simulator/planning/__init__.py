"""What would one experiment cost, and when would it end? `answering` gathers what is known and has a `simulation_worker`, a process of its own, play the
search in several futures (`experiment_simulation`): on a pool as it stands (`pool_snapshot`, `background_jobs`), as earlier trials learned (`earlier_runs`) or as a model has
it; `summary` puts the futures together."""
