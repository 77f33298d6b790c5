"""Starts the registry: `python -m services.registry`."""

from shared.garbage import uncollected

if __name__ == "__main__":
    with uncollected():
        from services.registry.service import compose
        from services.registry.settings import Settings
        from shared.process import run

    run("registry", Settings, compose)
