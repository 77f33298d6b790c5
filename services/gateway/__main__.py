"""Start the gateway: `python -m services.gateway`."""

from services.gateway.service import compose
from services.gateway.settings import Settings
from shared.runtime.process import run

if __name__ == "__main__":
    run("gateway", Settings, compose)
