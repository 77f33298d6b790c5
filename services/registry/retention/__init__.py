"""For how long tenants and workspaces keep things."""
