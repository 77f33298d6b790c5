"""Entry point of the scheduler: `python -m services.scheduler`."""

from services.scheduler.service import compose
from services.scheduler.settings import Settings
from shared.runtime.process import run

if __name__ == "__main__":
    run("scheduler", Settings, compose)
