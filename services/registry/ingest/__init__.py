"""The hot path: stores reports and logs of workers, many batches per transaction."""
