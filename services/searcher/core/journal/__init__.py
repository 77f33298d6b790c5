"""The journal of a search: what each step records, and how a search is rebuilt from it and checked against it."""
