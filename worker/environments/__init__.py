"""The Python environments of experiments, made once per machine."""
