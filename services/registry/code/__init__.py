"""Code archives: how they come in, and what stands in them."""
