"""The private contract: all messages of the platform, each declared once. `catalogue.ALL` lists them."""
