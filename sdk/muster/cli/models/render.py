"""Formatting of registered models."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muster.client.models import Model


def aliases_of(model: "Model") -> str:
    """Format the aliases of a model with their versions."""
    return ", ".join(f"{alias} → {number}" for alias, number in model.aliases.items())
