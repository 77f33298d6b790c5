"""Fixtures of attacks on the registry: the registry with a scheduler and two workers around it."""

from tests.integration.registry.conftest import around, registry

__all__ = ["around", "registry"]
