"""How much of it: rates of tenants and workspaces, and turns at what is scarce."""
