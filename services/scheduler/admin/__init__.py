"""Administrative changes: pool policies, quotas, budgets, reservations, experiment policies."""
