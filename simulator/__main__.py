"""Starts the simulator as a service: `python -m simulator`."""

from shared.garbage import uncollected

if __name__ == "__main__":
    with uncollected():
        from shared.process import run
        from simulator.service import compose
        from simulator.settings import SimulatorSettings

    run("simulator", SimulatorSettings, compose)
