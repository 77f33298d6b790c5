"""Elastic trials: their training reports, the models fitted to them, and the slots that they have had."""
