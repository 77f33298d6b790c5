"""Start the bus keeper: `python -m deploy.bus_keeper`."""

from deploy.bus_keeper.service import NAME, compose
from deploy.bus_keeper.settings import Settings
from shared.runtime.process import run

if __name__ == "__main__":
    run(NAME, Settings, compose)
