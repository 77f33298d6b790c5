"""Start the registry: `python -m services.registry`."""

from services.registry.service import compose
from services.registry.settings import Settings
from shared.runtime.process import run

if __name__ == "__main__":
    run("registry", Settings, compose)
