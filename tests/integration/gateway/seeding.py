"""Things of a tenant, as the other services announce them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import httpx

from services.gateway.platform.auth.tokens import derive_key, hash_token, render_token
from shared.clock import SystemClock
from shared.ids import DEFAULT_TENANT, CheckpointId, ModelId, TenantId, VersionId, derived_id, new_id
from shared.messages import experiments
from shared.messages.checkpoints import CheckpointPage, CheckpointView
from shared.messages.lineage import Lineage
from shared.messages.models import ModelChanged, VersionChanged
from shared.messages.runs import RunGranted
from tests.integration.gateway.conftest import Others
from tests.support.waiting import eventually

CONFIG = """\
name: seeded
entrypoint: python3 -m train
hyperparameters: {lr: 0.1}
searcher: {name: single, metric: loss}
"""
NOW = datetime.now(UTC)


@dataclass(frozen=True)
class Seeded:
    """One of each kind, all of the default tenant."""

    experiment: dict[str, Any]
    trial: UUID
    run: UUID
    checkpoint: UUID
    model: UUID
    version: UUID
    code: str

    def path(self, template: str) -> str:
        """A path of the table with our things in its places."""
        places = {
            "experiment": self.experiment["id"],
            "trial": str(self.trial),
            "checkpoint": str(self.checkpoint),
            "model": str(self.model),
            "version": "1",
            "alias": "champion",
            "sha256": self.code,
            "media": "1.0",
        }
        return template.format_map(places)


def trial_changed(experiment: dict[str, Any], number: int, version: int = 1, **more: Any) -> Any:
    values = {
        "trial_id": derived_id(UUID(experiment["id"]), "trial", number),
        "experiment_id": experiment["id"],
        "version": version,
        "number": number,
        "state": "running",
        "hyperparameters": {"lr": 0.1},
        "seed": 7,
        "created_at": NOW,
    }
    return experiments.TrialChanged.model_validate(values | more)


async def seed(
    api: httpx.AsyncClient,
    others: Others,
    tenant: TenantId = DEFAULT_TENANT,
    workspace: str | None = None,
    project: str = "detect",
) -> Seeded:
    """Announces one of each, in one workspace, and waits until the gateway shows them."""
    config = CONFIG if workspace is None else f"{CONFIG}workspace: {workspace}\nproject: {project}\n"
    answer = await api.post("/v1/experiments", json={"config_yaml": config})
    assert answer.status_code == 201, answer.text
    experiment = answer.json()
    trial = trial_changed(experiment, 1, best={"step": 5, "value": 0.3}, latest={"step": 6, "value": 0.4})
    ids = {kind: new_id(SystemClock()) for kind in ("run", "allocation", "checkpoint", "model", "version")}
    run, model, version = _made(experiment, trial, ids)
    await others.announce("searcher", tenant, trial)
    await others.announce("scheduler", tenant, run)
    await others.announce("registry", tenant, model, version)

    async def shown() -> bool:
        paths = (f"/v1/trials/{trial.trial_id}", f"/v1/models/{model.name}/versions/1")
        answers = [await api.get(path) for path in paths]
        runs_shown = await api.get(f"/v1/trials/{trial.trial_id}/runs")
        return all(answer.status_code == 200 for answer in answers) and bool(runs_shown.json().get("items"))

    await eventually(shown)
    return Seeded(
        experiment, trial.trial_id, ids["run"], ids["checkpoint"], ids["model"], ids["version"], "ab" * 32
    )


def checkpoints_of(seeded: Mapping[TenantId, Sequence[Seeded]]) -> Any:
    """The registry's answer about the checkpoints of these, each told to its own tenant."""
    views = {
        (tenant, one.checkpoint): CheckpointView(
            checkpoint_id=one.checkpoint,
            trial_id=one.trial,
            experiment_id=one.experiment["id"],
            run_number=1,
            step=5,
            state="saved",
            files=(),
            size_bytes=3,
            created_at=NOW,
        )
        for tenant, several in seeded.items()
        for one in several
    }

    async def answer(ask: Any, query: Any) -> CheckpointPage:
        found = views.get((ask.tenant, query.checkpoint_id))
        return CheckpointPage(checkpoints=(found,) if found else ())

    return answer


def _made(
    experiment: dict[str, Any], trial: Any, ids: dict[str, UUID]
) -> tuple[RunGranted, ModelChanged, VersionChanged]:
    """A run of the trial, and a model with a version of what it left."""
    run = RunGranted(
        run_id=ids["run"],
        trial_id=trial.trial_id,
        experiment_id=trial.experiment_id,
        version=1,
        number=1,
        allocation_id=ids["allocation"],
        token=1,
        pool="default",
        members=({"worker": "w1", "slots": 1},),
        granted_at=NOW,
    )
    model = ModelChanged(
        model_id=ids["model"],
        version=2,
        name=f"model-{experiment['number']}",
        workspace=experiment["workspace"],
        description="",
        metadata={},
        versions=1,
        aliases={"champion": 1},
        created_at=NOW,
        by="admin",
    )
    return (
        run,
        model,
        _version(
            ids["version"], model.name, 1, ids | {"trial": trial.trial_id, "experiment": trial.experiment_id}
        ),
    )


def version_changed(seeded: Seeded, number: int, **more: Any) -> VersionChanged:
    """Another version of the model, of the same checkpoint."""
    ids = {
        "experiment": UUID(seeded.experiment["id"]),
        "trial": seeded.trial,
        "run": seeded.run,
        "checkpoint": seeded.checkpoint,
        "model": seeded.model,
    }
    name = f"model-{seeded.experiment['number']}"
    return _version(derived_id(seeded.model, "version", number), name, number, ids).model_copy(update=more)


def _version(version: UUID, model: str, number: int, ids: Mapping[str, UUID]) -> VersionChanged:
    return VersionChanged(
        version_id=VersionId(version),
        model_id=ModelId(ids["model"]),
        model_name=model,
        version=1,
        number=number,
        checkpoint_id=CheckpointId(ids["checkpoint"]),
        name="",
        comment="",
        metadata={},
        lineage=Lineage.model_validate(_lineage(ids)),
        files=1,
        size_bytes=3,
        created_at=NOW,
        by="admin",
    )


def _lineage(ids: Mapping[str, UUID]) -> dict[str, Any]:
    return {
        "experiment_id": ids["experiment"],
        "trial_id": ids["trial"],
        "run_id": ids["run"],
        "checkpoint_id": ids["checkpoint"],
        "step": 5,
        "code_hash": None,
        "hyperparameters": {"lr": 0.1},
        "metrics": {"loss": 0.3},
    }


async def make_tenant(system_url: str, directory: Path, name: str) -> tuple[TenantId, str]:
    """Another tenant and its admin token, as an operator's tool would write them."""
    tenant = TenantId(new_id(SystemClock()))
    token = await add_token(system_url, directory, tenant, "admin", name)
    return tenant, token


async def add_token(
    system_url: str,
    directory: Path,
    tenant: TenantId,
    role: str,
    name: str = "x",
    expires_at: datetime | None = None,
) -> str:
    """A token straight into the database."""
    pepper = (directory / "gateway.pepper").read_text().strip().encode()
    token = render_token(new_id(SystemClock()).bytes + new_id(SystemClock()).bytes)
    connection = await asyncpg.connect(system_url)
    try:
        await connection.execute(
            "INSERT INTO gateway.tenant VALUES ($1, $2, now()) ON CONFLICT DO NOTHING",
            tenant,
            f"{name}-{tenant}",
        )
        await connection.execute(
            "INSERT INTO gateway.token (tenant, id, name, role, hash, created_at, expires_at)"
            " VALUES ($1, $2, $3, $4, $5, now(), $6)",
            tenant,
            new_id(SystemClock()),
            name,
            role,
            hash_token(derive_key(pepper, "token"), token),
            expires_at,
        )
    finally:
        await connection.close()
    return token
