"""Start the searcher: `python -m services.searcher`."""

from services.searcher.service import compose
from services.searcher.settings import Settings
from shared.runtime.process import run

if __name__ == "__main__":
    run("searcher", Settings, compose)
