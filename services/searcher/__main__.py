"""Starts the searcher: `python -m services.searcher`."""

from shared.garbage import uncollected

if __name__ == "__main__":
    with uncollected():
        from services.searcher.service import compose
        from services.searcher.settings import SearcherSettings
        from shared.process import run

    run("searcher", SearcherSettings, compose)
