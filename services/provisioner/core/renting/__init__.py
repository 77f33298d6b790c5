"""Select the cheapest machines that a pool may rent for a need."""
