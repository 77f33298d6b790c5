"""Answers the workers' requests for the secrets of their runs. Every use, and every refusal, is recorded in the audit log."""

from collections.abc import Mapping

from muster.config.environment import Environment
from muster.errors import Rejected
from services.gateway.platform.audit import store as audit
from services.gateway.platform.audit.auditor import Auditor
from services.gateway.platform.audit.records import AuditOutcome, CallFacts, CallOrigin, render_record
from services.gateway.platform.dependencies import MasterKeys
from services.gateway.user_secrets import store
from services.gateway.user_secrets.core import SecretId
from services.gateway.user_secrets.envelopes import unseal
from services.gateway.user_secrets.find import missing_secret
from shared.auth.sealed_box import seal_for
from shared.bus import Bus, RequestContext, Units
from shared.bus.responder import Answer, Question
from shared.errors import NotFound, Transient
from shared.ids import SITE, TenantId, WorkerId, new_id
from shared.messages.runs import AllocationFacts, GetAllocation
from shared.messages.secrets import GetRunSecret, SealedSecret
from shared.messages.workers import GetWorkerKey

OPERATION = "UseSecret"
"""Name of uses in the audit log."""
FORBIDDEN = "secret_forbidden"
_TIMEOUT_S = 3.0
_UNKNOWN_RETRY_S = 2.0


class SecretRequests:
    """Answers `wrq.v1.<worker>.secret`."""

    def __init__(self, bus: Bus, units: Units, keys: MasterKeys, auditor: Auditor) -> None:
        self._bus = bus
        self._units = units
        self._keys = keys
        self._auditor = auditor

    def answers(self) -> Mapping[Question, Answer]:
        """Return the answers for the responder."""
        return {GetRunSecret: self.on_get}

    async def on_get(self, ask: RequestContext, query: GetRunSecret) -> SealedSecret:
        """Return a secret of the run's workspace, sealed for the worker that asks.

        Raises:
            Rejected: The worker is not on the run, the run has ended, its experiment's config does not reference the secret, or there is
                no such secret.
        """
        allocation = await self._allocation_of(query)
        tenant = TenantId(allocation.tenant)
        if ask.worker not in allocation.holders:
            self._deny(tenant, ask.worker, query)
            raise Rejected(
                FORBIDDEN,
                f"worker {ask.worker} does not run {query.run_id}, so it gets none of its secrets",
            )
        worker_key = await self._key_of(ask.worker)
        async with self._units.tenant(tenant) as unit:
            experiment = await store.load_run_config(unit.connection, allocation.experiment_id)
            if experiment is None:
                raise Transient(
                    f"the gateway does not know the experiment of run {query.run_id}", _UNKNOWN_RETRY_S
                )
            secret = SecretId(tenant, experiment.workspace, query.name)
            envelope = await store.load_envelope(unit.connection, secret)
        if query.name not in _referenced(experiment.config):
            self._deny(tenant, ask.worker, query)
            raise Rejected(
                FORBIDDEN,
                f"the config of experiment {experiment.number} does not reference the secret {query.name}",
                hint="add it to `environment.secrets`",
            )
        if envelope is None:
            raise missing_secret(secret.name, secret.workspace)
        # A key management service may take long, so no transaction is open meanwhile.
        value = await unseal(self._keys, secret, envelope)
        record = self._record(secret, experiment.number, allocation, ask.worker)
        async with self._units.tenant(tenant) as unit:
            await audit.append(unit.connection, (tenant,), [record])
        self._auditor.wake()
        return SealedSecret(sealed=seal_for(worker_key, value.encode()))

    def _deny(self, tenant: TenantId, worker: WorkerId, query: GetRunSecret) -> None:
        facts = CallFacts(OPERATION, f"secret/{query.name}", CallOrigin("nats"), f"worker {worker}")
        self._auditor.deny(tenant, facts, FORBIDDEN)

    async def _allocation_of(self, query: GetRunSecret) -> AllocationFacts:
        try:
            return await self._bus.ask(GetAllocation(run_id=query.run_id), SITE, _TIMEOUT_S)
        except NotFound as error:
            # A scheduler restored from a backup learns its runs from the workers again.
            raise Transient(
                f"the scheduler does not know run {query.run_id} yet", _UNKNOWN_RETRY_S
            ) from error

    async def _key_of(self, worker: WorkerId) -> str:
        return (await self._bus.ask(GetWorkerKey(worker=worker), SITE, _TIMEOUT_S)).user_key

    def _record(
        self, secret: SecretId, experiment: int, allocation: AllocationFacts, worker: WorkerId
    ) -> str:
        clock = self._auditor.clock
        facts = CallFacts(
            OPERATION,
            f"workspace/{secret.workspace}/secret/{secret.name}",
            CallOrigin("nats"),
            f"worker {worker}",
            path={"workspace": secret.workspace, "secret": secret.name},
        )
        used = {
            "experiment": experiment,
            "run_id": str(allocation.run_id),
            "trial_id": str(allocation.trial_id),
        }
        return render_record(
            secret.tenant, facts, clock.now(), new_id(clock), AuditOutcome.ALLOWED, asked=used
        )


def _referenced(config: Mapping[str, object]) -> frozenset[str]:
    """Return the names of the secrets that a run of this config may ask for."""
    return Environment.of_accepted(config.get("environment")).secret_names
