"""An instance's life: the call that it came by, what effects made of it, and what refusals hold back."""
