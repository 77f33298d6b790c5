"""What workers report: batches on their way into tables, and what becomes of them there."""
