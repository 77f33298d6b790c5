"""Media: packs on their way in, and out when their time is over."""
