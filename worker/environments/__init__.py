"""Python environments of experiments, created once per machine."""
