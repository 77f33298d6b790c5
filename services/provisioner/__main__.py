"""Starts the provisioner: `python -m services.provisioner`."""

from shared.garbage import uncollected

if __name__ == "__main__":
    with uncollected():
        from services.provisioner.service import compose
        from services.provisioner.settings import Settings
        from shared.process import run

    run("provisioner", Settings, compose)
