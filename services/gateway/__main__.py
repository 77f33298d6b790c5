"""Starts the gateway: `python -m services.gateway`."""

from shared.garbage import uncollected

if __name__ == "__main__":
    with uncollected():
        from services.gateway.service import compose
        from services.gateway.settings import GatewaySettings
        from shared.process import run

    run("gateway", GatewaySettings, compose)
