"""Indexes derived from the records: free slots, queues, slots per holder, learned durations. Only the cluster
updates them."""
