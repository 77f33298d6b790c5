"""Starts the scheduler: `python -m services.scheduler`."""

from shared.garbage import uncollected

if __name__ == "__main__":
    with uncollected():
        from services.scheduler.service import compose
        from services.scheduler.settings import Settings
        from shared.process import run

    run("scheduler", Settings, compose)
