"""Checks that the secrets that a config references exist."""

from muster.config import ExperimentConfig
from muster.errors import Rejected
from services.gateway.platform.call_context import Call
from services.gateway.user_secrets import store
from shared.messages.trial_specs import UNCATEGORIZED


async def check_secrets(call: Call, config: ExperimentConfig) -> None:
    """Raise Rejected if the workspace of a config lacks a secret that the config references."""
    names = config.environment.secret_names
    if not names:
        return
    workspace = config.workspace or UNCATEGORIZED
    # Without the filter by roles: whoever may submit into a project may use the secrets of its workspace.
    async with call.dependencies.database.read(call.tenant) as connection:
        known = await store.load_names(connection, workspace, names)
    if missing := sorted(names - known):
        raise missing_secret(missing[0], workspace, "environment.secrets")


def missing_secret(name: str, workspace: str, place: str | None = None) -> Rejected:
    """Return the error for a reference to a secret that does not exist."""
    return Rejected(
        "secret_missing",
        f"workspace '{workspace}' has no secret {name}, which `environment.secrets` of the config names",
        place,
        f"create it with `muster secret set {name} --workspace {workspace}`",
    )
