"""Which machines a pool rents for a need: the cheapest of what its definition allows."""
