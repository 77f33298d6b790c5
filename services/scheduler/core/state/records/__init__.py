"""The entities: runs, trials, workers and policies, as frozen values, and the state machines of runs, gangs,
requests and workers."""
