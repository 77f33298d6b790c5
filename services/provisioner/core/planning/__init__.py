"""One pass over a pool: what stands and what is asked for, how many machines come and go, and what is due to each."""
