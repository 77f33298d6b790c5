"""The table of trials: the language of its filters and orders, and what their names mean."""
