"""Preemption: `rights` defines which runs a request may preempt at any time, `time_slicing` which after a time slice.
`running_allocations` orders the candidates and `victims` chooses them. `defragmentation` defragments."""
