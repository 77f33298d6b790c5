"""The hot path: reports and logs of workers become rows, many batches in one transaction."""
