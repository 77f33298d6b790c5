"""Elastic runs: what they would gain from more slots, and who gets the idle ones.

`throughput` learns a run's step times from what it has reported, `goodput` adds what its batches teach (both in `state/indexes/elastic`),
`shares` distributes slots.
After Pollux: Qiao et al., "Co-adaptive Cluster Scheduling for Goodput-Optimized Deep Learning", OSDI 2021.
"""
