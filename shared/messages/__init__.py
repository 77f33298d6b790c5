"""The private contract: every message of the platform, declared once. `catalogue.ALL` lists them."""
