"""Plans an experiment: what it would cost and when it would end.

`plan_handler` collects the inputs and starts a `simulation_worker`, a separate process, which simulates the search in several
futures (`experiment_simulation`): on the current pool (`pool_snapshot`, `background_jobs`), with learning curves of earlier trials
(`run_history`) or of a model. `summary` summarises the futures.
"""
