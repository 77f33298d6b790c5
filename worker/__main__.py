"""Start: `python -m worker`."""

from shared.runtime.process import run
from worker.service import compose
from worker.settings import Settings

if __name__ == "__main__":
    run("worker", Settings, compose)
