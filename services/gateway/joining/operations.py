"""Issue join tokens, and exchange them for worker credentials."""

from muster.errors import Rejected
from services.gateway.joining.schema import (
    IssueJoinTokenRequest,
    JoinToken,
    JoinWorkerRequest,
    WorkerCredentials,
)
from services.gateway.platform.auth.permissions import Access, Permission
from services.gateway.platform.call_context import Call
from services.gateway.platform.commands.idempotency import claim_apart, remember
from services.gateway.platform.limits.buckets import RateClass
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import KEY, NATURAL
from shared.ids import SITE, PoolName, WorkerId, new_id
from shared.messages.machine_pools import IdentifyMachine
from shared.messages.workers import IssueJoin, Join


async def issue_join_token(call: Call, request: IssueJoinTokenRequest) -> JoinToken:
    """Create a one-time token that lets one machine join a pool."""
    earlier = await claim_apart(call, request, new_id(call.dependencies.clock))
    if earlier is not None and earlier.response is not None:
        return JoinToken.model_validate(earlier.response)
    question = IssueJoin(
        pool=PoolName(request.pool),
        worker=WorkerId(request.worker) if request.worker else None,
        life_s=float(request.ttl_s),
    )
    issued = await call.ask_for_change(question)
    answer = JoinToken(token=issued.token, pool=request.pool, expires_at=issued.expires_at)
    async with call.transaction() as unit:
        # If two requests with the same key issued tokens concurrently, both return the first one.
        return await remember(call, unit.connection, answer)


async def join_worker(call: Call, request: JoinWorkerRequest) -> WorkerCredentials:
    """Join a machine to a pool: exchange a join token or a signed identity document for NATS credentials."""
    question = Join(
        token=call.join_token or await _token_of(call, request),
        worker=WorkerId(request.worker),
        user_key=request.user_key,
        pool=PoolName(request.pool),
        address=request.address,
        version=request.version,
        trouble=request.trouble,
        isolation=request.isolation.value,
        isolation_detail=request.isolation_detail,
    )
    try:
        found = await call.ask_for_change(question)
    except Rejected as error:
        if error.code == "bad_join_token":
            raise Rejected(
                "unauthenticated", error.message, hint="get a new join token: POST /v1/join-tokens"
            ) from error
        raise
    return WorkerCredentials(
        worker=found.worker,
        jwt=found.jwt,
        nats_url=found.nats_url,
        expires_at=found.expires_at,
        warning=found.warning,
    )


async def _token_of(call: Call, request: JoinWorkerRequest) -> str:
    """Ask the provisioner for the join token of a rented machine that its identity document identifies."""
    if request.identity_document is None:
        raise Rejected(
            "unauthenticated",
            "the request has no join token",
            hint="send one as `Authorization: Bearer …`",
        )
    question = IdentifyMachine(
        worker=WorkerId(request.worker),
        document=request.identity_document,
        signature=request.identity_signature or "",
    )
    try:
        return (await call.dependencies.bus.ask(question, SITE, call.dependencies.timeouts.query_s)).token
    except Rejected as error:
        raise Rejected("unauthenticated", error.message, hint=error.hint) from error


# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("IssueJoinToken", "POST", "/v1/join-tokens", IssueJoinTokenRequest, JoinToken, Permission.WORKER_JOIN, KEY, issue_join_token, status=201, secret=True, waits=True),
    Operation("JoinWorker", "POST", "/v1/workers/join", JoinWorkerRequest, WorkerCredentials, Access.JOIN_TOKEN, NATURAL, join_worker, rate=RateClass.JOIN, secret=True, waits=True),
)
# fmt: on
