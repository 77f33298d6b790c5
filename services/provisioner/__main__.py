"""Start the provisioner: `python -m services.provisioner`."""

from services.provisioner.service import compose
from services.provisioner.settings import Settings
from shared.runtime.process import run

if __name__ == "__main__":
    run("provisioner", Settings, compose)
