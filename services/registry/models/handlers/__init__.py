"""Commands on models and on their versions."""
