"""How registered models look."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muster.client.models import Model


def aliases_of(model: "Model") -> str:
    """Return which version each alias names."""
    return ", ".join(f"{alias} → {number}" for alias, number in model.aliases.items())
