"""Elastic runs: their expected gain from more slots, and the distribution of idle slots.

`throughput` fits step times to a run's reports and `goodput` adds the progress per step (both in
`state/indexes/elastic`); `shares` distributes slots.
After Pollux: Qiao et al., "Co-adaptive Cluster Scheduling for Goodput-Optimized Deep Learning", OSDI 2021.
"""
