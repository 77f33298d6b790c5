"""Fixtures of the attacks on the scheduler: its real process, with workers on the bus."""

from tests.integration.scheduler.conftest import around

__all__ = ["around"]
