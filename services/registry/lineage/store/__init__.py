"""The lineage graph in the database."""
