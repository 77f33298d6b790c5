"""Start: `python -m worker`."""

from shared.garbage import uncollected

if __name__ == "__main__":
    with uncollected():
        from shared.process import run
        from worker.service import compose
        from worker.settings import Settings

    run("worker", Settings, compose)
