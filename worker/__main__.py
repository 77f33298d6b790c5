"""Start: `python -m worker`."""

from shared import process
from worker.service import compose
from worker.settings import Settings


def main() -> None:
    """Run until SIGTERM."""
    process.run("worker", Settings, compose)


if __name__ == "__main__":
    main()
