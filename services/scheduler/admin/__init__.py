"""What people rule: pools, quotas, budgets, bookings, an experiment's part in the queue."""
