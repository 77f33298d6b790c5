"""Compute Engine over REST, its operations awaited, and its errors in our words."""

from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from random import Random

import aiohttp

from services.provisioner.core.instances.refusals import Cause, LaunchRefusal
from services.provisioner.drivers.gcp.tokens import Tokens
from services.provisioner.drivers.rate_limit import RateLimiter, Throttled
from services.provisioner.drivers.rest import HttpRequest, Json, Response, exchange
from shared.clock import Clock
from shared.errors import Rejected, Transient

URL = "https://compute.googleapis.com/compute/v1"
PAGE = 500
_PATIENCE = timedelta(seconds=30)
_OPERATION_PATIENCE_S = 180.0
_PER_S, _BURST = 10.0, 20
_NOTHING_THERE = "NO_RESULTS_ON_PAGE"
_CODES: dict[Cause, str] = {
    "no_capacity": "ZONE_RESOURCE_POOL_EXHAUSTED ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS RESOURCE_POOL_EXHAUSTED"
    " VM_MIN_COUNT_NOT_REACHED STOCKOUT",
    "quota": "QUOTA_EXCEEDED quotaExceeded IP_SPACE_EXHAUSTED IP_SPACE_EXHAUSTED_WITH_DETAILS limitExceeded",
    "throttled": "rateLimitExceeded userRateLimitExceeded RATE_LIMIT_EXCEEDED concurrentLimitExceeded",
    "credentials": "authError unauthorized forbidden accessNotConfigured insufficientPermissions PERMISSIONS_ERROR"
    " no_credentials billingNotEnabled",
    "bad_request": "invalid required notFound badRequest invalidParameter resourceNotFound RESOURCE_NOT_FOUND"
    " UNSUPPORTED_OPERATION INVALID_USAGE INVALID_FIELD_VALUE CONDITION_NOT_MET conditionNotMet parseError no_zone",
}
_CAUSES = {code: cause for cause, codes in _CODES.items() for code in codes.split()}
_WAYS_OUT: Mapping[Cause, str] = {
    "no_capacity": "allow the pool another kind, zone or purchase, or wait",
    "quota": "ask Google to raise the quota, or lower the pool's maximum",
    "credentials": "check the provisioner's account: it needs the role `roles/compute.instanceAdmin.v1` in the project",
    "bad_request": "correct the pool's Google Cloud settings",
}


class GcpRefused(Rejected):
    """Compute Engine will not do it; `code` is its own reason."""


class ComputeEngine:
    """One project."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        tokens: Tokens,
        project: str,
        clock: Clock,
        chance: Random,
        url: str = URL,
    ) -> None:
        self._session = session
        self._tokens = tokens
        self._url = f"{url.rstrip('/')}/projects/{project}"
        self._clock = clock
        self._pace = RateLimiter(_PER_S, _BURST, _PATIENCE, clock, chance)

    async def bulk_insert(self, zone: str, request_id: str, content: Json) -> None:
        """Makes machines and waits until that is decided. The same request id makes none again.

        Raises:
            Refused: None was made, or not all.
        """
        query = {"requestId": request_id}
        operation = await self._call("POST", f"zones/{zone}/instances/bulkInsert", query, content)
        deadline = self._clock.monotonic() + _OPERATION_PATIENCE_S
        while operation["status"] != "DONE":
            if self._clock.monotonic() > deadline:
                raise Transient(
                    f"Google Cloud has not decided on {request_id} for {_OPERATION_PATIENCE_S:.0f} s"
                )
            # Answers when it is done, or after two minutes at most.
            operation = await self._call("POST", f"zones/{zone}/operations/{operation['name']}/wait")
        faults = operation.get("error", {}).get("errors", [])
        if faults:
            raise GcpRefused(str(faults[0].get("code", "unknown")), str(faults[0].get("message", "")))

    async def instances(self, label: str, value: str) -> AsyncIterator[Json]:
        """The machines of all zones with this label, page by page."""
        query = {"filter": f"labels.{label}={value}", "maxResults": str(PAGE)}
        while True:
            page = await self._call("GET", "aggregated/instances", dict(query))
            for zone, of_zone in page.get("items", {}).items():
                # What a zone does not tell may stand all the same.
                if of_zone.get("warning", {}).get("code", _NOTHING_THERE) != _NOTHING_THERE:
                    raise Transient(f"Google Cloud does not show {zone}: {of_zone['warning'].get('message')}")
                for one in of_zone.get("instances", ()):
                    yield one
            if not (more := page.get("nextPageToken")):
                return
            query["pageToken"] = more

    async def delete(self, zone: str, name: str) -> None:
        """Begins its end; nothing where it is gone already."""
        try:
            await self._call("DELETE", f"zones/{zone}/instances/{name}")
        except GcpRefused as error:
            if error.code not in ("notFound", "resourceNotFound"):
                raise

    async def _call(
        self, method: str, path: str, query: Mapping[str, str] | None = None, content: Json | None = None
    ) -> Json:
        return await self._pace.call(lambda: self._ask(method, path, query, content))

    async def _ask(
        self, method: str, path: str, query: Mapping[str, str] | None, content: Json | None
    ) -> Json:
        """One call.

        Raises:
            Throttled: It was not made.
            Refused: It was not done.
            Transient: It may have been done.
        """
        answer = await self._exchange(method, path, query, content)
        if answer.status == 401:
            # A token may be withdrawn before its hour is over.
            self._tokens.forget()
            answer = await self._exchange(method, path, query, content)
        if answer.status >= 400:
            raise _told(answer)
        return answer.content

    async def _exchange(
        self, method: str, path: str, query: Mapping[str, str] | None, content: Json | None
    ) -> Response:
        try:
            token = await self._tokens.get()
        except Rejected as error:
            raise GcpRefused(error.code, error.message) from error
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        request = HttpRequest(method, f"{self._url}/{path}", headers, query, content)
        return await exchange(self._session, request, "Google Cloud")


def cause_of(code: str) -> Cause:
    """The cause of an error; `unknown` where the code says nothing to us."""
    return _CAUSES.get(code, "unknown")


def refusal(error: GcpRefused, where: str) -> LaunchRefusal:
    """What to tell people of a refused launch; `where`: the offer in words."""
    cause = cause_of(error.code)
    told = f"Google Cloud refused {where}: {error.message.rstrip('.')} ({error.code})"
    return LaunchRefusal(cause, f"{told}; {_WAYS_OUT[cause]}" if cause in _WAYS_OUT else told)


def _told(answer: Response) -> GcpRefused | Transient:
    error = answer.content.get("error", {})
    reasons = [str(one.get("reason", "")) for one in error.get("errors", ())]
    code, message = reasons[0] if reasons else str(answer.status), str(error.get("message") or answer.text)
    if answer.status == 429 or cause_of(code) == "throttled":
        return Throttled(f"Google Cloud throttles: {message}")
    if answer.status >= 500:
        return Transient(f"Google Cloud failed: {message} ({answer.status})")
    return GcpRefused(code, message)
