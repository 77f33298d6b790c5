"""Entry point of the simulator service: `python -m simulator`."""

from shared.runtime.process import run
from simulator.service import compose
from simulator.settings import Settings

if __name__ == "__main__":
    run("simulator", Settings, compose)
