"""Start: `python -m worker`."""

from shared.garbage import uncollected

if __name__ == "__main__":
    with uncollected():
        from shared.process import run
        from shared.slices import USUAL_NS, ask_slices
        from worker.service import compose
        from worker.settings import Settings

    # Of whoever started it, perhaps the services of `muster up`, runs are not to have this.
    ask_slices(USUAL_NS)
    run("worker", Settings, compose)
