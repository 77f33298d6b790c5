"""Queries, answered by any replica: prices and costs, pools of rented machines, and identities of joining machines."""
