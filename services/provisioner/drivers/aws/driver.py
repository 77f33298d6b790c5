"""The driver `aws`: machines are EC2 instances; an intent is one RunInstances call with the intent's id as client token."""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog

from services.provisioner.core.instances.instance import Instance, IntentId
from services.provisioner.core.instances.launches import Intent, Launched, Presence, Sighting, worker_at
from services.provisioner.core.instances.refusals import LaunchRefusal
from services.provisioner.drivers.aws.client import AwsRefused, Ec2
from services.provisioner.drivers.aws.error_codes import refusal
from services.provisioner.drivers.aws.request import (
    MOST_MACHINES,
    TAG_INTENT,
    TAG_SITE,
    AwsSite,
    run_instances,
)
from services.provisioner.drivers.driver import MachineIdentity, MachineRef
from services.provisioner.drivers.rate_limit import Throttled
from shared.errors import Transient
from shared.ids import WorkerId

PRESENCES = {
    "pending": Presence.RUNNING,
    "running": Presence.RUNNING,
    "stopping": Presence.STOPPED,
    "stopped": Presence.STOPPED,
    "shutting-down": Presence.ENDED,
    "terminated": Presence.ENDED,
}
"""Presence by instance state. An instance that is shutting down costs nothing and cannot be kept."""
EXISTING_STATES = frozenset(state for state, presence in PRESENCES.items() if presence is not Presence.ENDED)
_ENDED_AT_ONCE = 200
_FILTERED_AT_ONCE = 200
"""Most values of a filter; the rest is queried with the next listing."""
_ENDED_AT = re.compile(r"\((\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (?:GMT|UTC)\)")
_ID = re.compile(r"\bi-[0-9a-f]+\b")
_log = structlog.get_logger()


class AwsDriver:
    """Machines of one deployment in one region."""

    most_per_intent = MOST_MACHINES
    lateness = timedelta(seconds=90)
    terminates_orphans = True

    def __init__(
        self, site: AwsSite, ec2: Ec2, name: str = "aws", identity: MachineIdentity | None = None
    ) -> None:
        self.name = name
        self.identity = identity
        self._site = site
        self._ec2 = ec2

    def watch(self, notify: Callable[[], None]) -> None:
        """Do nothing: AWS sends no notifications, so changes are found by listing."""

    async def launch(self, intent: Intent, tokens: Mapping[WorkerId, str]) -> Launched:
        """Launch the intent's machines. AWS may launch fewer than requested; the rest counts as refused for lack of capacity."""
        try:
            made = await self._ec2.run_instances(run_instances(self._site, intent, tokens))
        except AwsRefused as error:
            if error.code != "IdempotentParameterMismatch":
                return Launched(refused=refusal(error.code, error.message, intent.offer.label))
            # Launched before; the machines have the tokens of that call.
            made = await self._find_made(intent)
        except Throttled as error:
            return Launched(refused=LaunchRefusal("throttled", error.message))
        placed = {worker_at(intent.id, one["AmiLaunchIndex"]): str(one["InstanceId"]) for one in made}
        asked = len(intent.instances)
        _log.info(
            "machines were launched",
            intent=intent.id,
            offer=intent.offer.label,
            asked=asked,
            placed=len(placed),
        )
        if len(placed) == asked:
            return Launched(placed)
        message = f"only {len(placed)} of {asked} machines were available"
        return Launched(placed, refusal("InsufficientInstanceCapacity", message, intent.offer.label))

    async def start_again(self, instance: Instance, token: str | None) -> None:
        """Start an instance that was stopped; its own script starts the worker."""
        for one in await self._ec2.describe(self._ours({"stopped"})):
            if _worker_of(one) == instance.worker:
                await self._ec2.start(one["InstanceId"])

    async def kick(self, worker: WorkerId) -> None:
        """Do nothing: the machine restarts a worker that exits, and a worker without heartbeat may train well."""
        _log.warning("a worker on AWS sends no heartbeat; its machine is left running", worker=worker)

    async def observe(self, awaited: Collection[IntentId] | None = None) -> Mapping[WorkerId, Sighting]:
        which = self._ours(PRESENCES)
        if awaited is not None:
            which[f"tag:{TAG_INTENT}"] = sorted(map(str, awaited))[:_FILTERED_AT_ONCE]
        found: dict[WorkerId, list[dict[str, Any]]] = defaultdict(list)
        for one in await self._ec2.describe(which):
            if (worker := _worker_of(one)) is not None:
                found[worker].append(one)
        return {worker: _sighting(machines) for worker, machines in found.items()}

    async def terminate(self, machines: Collection[MachineRef]) -> None:
        ids = {machine.external_id for machine in machines if machine.external_id is not None}
        unnamed = {machine.worker for machine in machines if machine.external_id is None}
        if unnamed:
            existing = await self._ec2.describe(self._ours(EXISTING_STATES))
            ids |= {str(one["InstanceId"]) for one in existing if _worker_of(one) in unnamed}
        due = sorted(ids)
        for first in range(0, len(due), _ENDED_AT_ONCE):
            await self._terminate(due[first : first + _ENDED_AT_ONCE])

    async def _terminate(self, ids: Sequence[str]) -> None:
        """Terminate instances, without those that AWS does not know.

        An instance launched just now may not be known yet. The sweep terminates it later by our tag.
        """
        left = list(ids)
        while left:
            try:
                await self._ec2.terminate(left)
            except AwsRefused as error:
                unknown = set(_ID.findall(error.message))
                if error.code != "InvalidInstanceID.NotFound" or not unknown.intersection(left):
                    raise
                left = [one for one in left if one not in unknown]
            else:
                _log.info("machines were ended", machines=len(left))
                return

    async def _find_made(self, intent: Intent) -> Sequence[dict[str, Any]]:
        made = await self._ec2.describe({f"tag:{TAG_INTENT}": [str(intent.id)]})
        if not made:
            raise Transient(f"AWS accepted intent {intent.id} but does not list its machines yet")
        return made

    def _ours(self, states: Iterable[str]) -> dict[str, Sequence[str]]:
        return {f"tag:{TAG_SITE}": [self._site.name], "instance-state-name": sorted(states)}


def _worker_of(one: dict[str, Any]) -> WorkerId | None:
    """Return a machine's worker by its tag and launch index; None if the tag was changed."""
    intent = _intent_of(one)
    return worker_at(intent, one["AmiLaunchIndex"]) if intent else None


def _intent_of(one: dict[str, Any]) -> IntentId | None:
    for tag in one.get("Tags", ()):
        if tag["Key"] == TAG_INTENT:
            with suppress(ValueError):
                return IntentId(UUID(tag["Value"]))
    return None


def _sighting(machines: list[dict[str, Any]]) -> Sighting:
    """Return the sighting of a worker; of several machines the oldest existing one is the worker's."""
    first, *more = sorted(machines, key=lambda one: (not _stands(one), one["LaunchTime"], one["InstanceId"]))
    return Sighting(
        presence=PRESENCES[first["State"]["Name"]],
        external_id=first["InstanceId"],
        intent=_intent_of(first),
        zone=first.get("Placement", {}).get("AvailabilityZone"),
        extras=tuple(one["InstanceId"] for one in more if _stands(one)),
        launched_at=first["LaunchTime"],
        ended_at=None if _stands(first) else _ended_at(first),
    )


def _stands(one: dict[str, Any]) -> bool:
    return one["State"]["Name"] in EXISTING_STATES


def _ended_at(one: dict[str, Any]) -> datetime | None:
    """Return when an instance ended, which EC2 reports only in text: `User initiated (2026-11-22 11:00:00 GMT)`."""
    ended = _ENDED_AT.search(one.get("StateTransitionReason", ""))
    return datetime.fromisoformat(f"{ended[1]}+00:00") if ended else None
