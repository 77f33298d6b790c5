"""What is known of elastic trials: what they have reported, what follows from it, what they have had."""
