"""Models, their versions and stages."""
