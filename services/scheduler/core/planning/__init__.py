"""Planning: which requests get slots now, which runs are preempted, and how many more slots a pool could use. A
plan leaves the state unchanged."""
