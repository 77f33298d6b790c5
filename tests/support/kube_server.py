"""A Kubernetes API server for one namespace: it keeps pods and secrets, and takes no object that the published schema of Kubernetes would refuse.

The schema is that of the client package: its models are generated from the OpenAPI document of the release, with types and required fields.
"""

import re
import uuid
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import kubernetes_asyncio.client.models as models
from aiohttp import web

TOKEN = "a-service-accounts-token"
NAMESPACE = "training"
Json = dict[str, Any]
_MODELS = {"pods": "V1Pod", "secrets": "V1Secret"}
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_LABEL = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_SIMPLE: dict[str, type | tuple[type, ...]] = {
    "str": str,
    "int": int,
    "bool": bool,
    "float": (int, float),
    "datetime": str,
}


@dataclass
class Cluster:
    """What it holds, and how it behaves from now on.

    Attributes:
        pods_left: Pods that the namespace's quota still allows; None: any number.
        refusals: (status, reason) by method and resource, each said once, in order.
        fails_after: How often something is created and then answered with an error 500.
    """

    objects: dict[str, dict[str, Json]] = field(default_factory=lambda: {"pods": {}, "secrets": {}})
    calls: Counter[str] = field(default_factory=Counter)
    made: Counter[str] = field(default_factory=Counter)
    refusals: dict[str, list[tuple[int, str]]] = field(default_factory=lambda: defaultdict(list))
    pods_left: int | None = None
    fails_after: int = 0
    token: str = TOKEN
    url: str = ""

    def settle(self) -> None:
        """Objects whose owners are all gone are gone."""
        uids = {pod["metadata"]["uid"] for pod in self.objects["pods"].values()}
        for name, secret in list(self.objects["secrets"].items()):
            owners = secret["metadata"].get("ownerReferences")
            if owners and not uids.intersection(owner["uid"] for owner in owners):
                del self.objects["secrets"][name]

    async def serve(self, request: web.Request) -> web.Response:
        resource, name = request.match_info["resource"], request.match_info.get("name")
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return _refusal(401, "Unauthorized", "Unauthorized")
        call = f"{request.method} {resource}"
        self.calls[call] += 1
        if self.refusals[call]:
            status, reason = self.refusals[call].pop(0)
            return _refusal(status, reason, f"as the test wants it: {reason}")
        if request.match_info["namespace"] != NAMESPACE:
            return _refusal(404, "NotFound", f'namespaces "{request.match_info["namespace"]}" not found')
        if name is None:
            return (
                self._list(request, resource)
                if request.method == "GET"
                else self._create(resource, await request.json())
            )
        found = self.objects[resource].get(name)
        if found is None:
            return _refusal(404, "NotFound", f'{resource} "{name}" not found')
        match request.method:
            case "PATCH":
                assert request.content_type == "application/merge-patch+json"
                patched = found | {"metadata": found["metadata"] | (await request.json())["metadata"]}
                if faults := list(problems(_MODELS[resource], patched, resource)):
                    return _refusal(422, "Invalid", "; ".join(faults))
                found["metadata"] = patched["metadata"]
            case "DELETE":
                del self.objects[resource][name]
                self.settle()
        return web.json_response(found)

    def _create(self, resource: str, content: Json) -> web.Response:
        faults = list(problems(_MODELS[resource], content, resource))
        name = content.get("metadata", {}).get("name", "")
        if not _NAME.fullmatch(name):
            faults.append(f"metadata.name: {name!r} is no name")
        faults += [
            f"label {key}: {value!r}"
            for key, value in content["metadata"].get("labels", {}).items()
            if not _LABEL.fullmatch(value)
        ]
        if faults:
            return _refusal(422, "Invalid", "; ".join(faults))
        if name in self.objects[resource]:
            return _refusal(409, "AlreadyExists", f'{resource} "{name}" already exists')
        if resource == "pods":
            if self.pods_left == 0:
                return _refusal(
                    403, "Forbidden", f'pods "{name}" is forbidden: exceeded quota: pods, requested: pods=1'
                )
            if self.pods_left is not None:
                self.pods_left -= 1
            secret = content["spec"]["containers"][0]["env"][-1]["valueFrom"]["secretKeyRef"]
            if secret["key"] not in self.objects["secrets"][secret["name"]]["stringData"]:
                return _refusal(422, "Invalid", f"there is no {secret}")
            content["status"] = {
                "phase": "Running",
                "startTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            }
        content["metadata"]["uid"] = str(uuid.uuid4())
        self.objects[resource][name] = content
        self.made[resource] += 1
        if self.fails_after > 0:
            self.fails_after -= 1
            return _refusal(500, "InternalError", "etcd is slow")
        return web.json_response(content, status=201)

    def _list(self, request: web.Request, resource: str) -> web.Response:
        key, _, value = request.query["labelSelector"].partition("=")
        found = [
            one
            for one in self.objects[resource].values()
            if one["metadata"].get("labels", {}).get(key) == value
        ]
        first, limit = int(request.query.get("continue", 0)), int(request.query["limit"])
        more = {"continue": str(first + limit)} if len(found) > first + limit else {}
        return web.json_response({"kind": "List", "metadata": more, "items": found[first : first + limit]})


@asynccontextmanager
async def kube_server() -> AsyncIterator[Cluster]:
    """A server with an empty namespace."""
    cluster = Cluster()
    application = web.Application()
    base = "/api/v1/namespaces/{namespace}/{resource:pods|secrets}"
    application.router.add_route("*", base, cluster.serve)
    application.router.add_route("*", base + "/{name}", cluster.serve)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    cluster.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield cluster
    finally:
        await runner.cleanup()


def problems(form: str, value: Any, place: str) -> list[str]:
    """What of a value the schema does not allow: unknown fields, wrong types, missing or impossible values, each with its place."""
    if inside := re.fullmatch(r"list\[(.+)\]", form):
        if not isinstance(value, list):
            return [f"{place}: a list is due"]
        return [fault for at, one in enumerate(value) for fault in problems(inside[1], one, f"{place}[{at}]")]
    if inside := re.fullmatch(r"dict\(str, (.+)\)", form):
        if not isinstance(value, dict):
            return [f"{place}: an object is due"]
        return [fault for key, one in value.items() for fault in problems(inside[1], one, f"{place}.{key}")]
    if form in _SIMPLE:
        return [] if isinstance(value, _SIMPLE[form]) else [f"{place}: {value!r} is no {form}"]
    if form == "object":
        return []
    return _problems_of_model(form, value, place)


def _problems_of_model(form: str, value: Any, place: str) -> list[str]:
    model = getattr(models, form)
    if not isinstance(value, dict):
        return [f"{place}: an object is due"]
    names = {key: name for name, key in model.attribute_map.items()}
    faults = [f'{place}: unknown field "{key}"' for key in value if key not in names]
    known = {key: one for key, one in value.items() if key in names}
    for key, one in known.items():
        faults += problems(model.openapi_types[names[key]], one, f"{place}.{key}")
    try:
        model(**{names[key]: one for key, one in known.items()})
    except ValueError as error:
        faults.append(f"{place}: {error}")
    return faults


def _refusal(status: int, reason: str, message: str) -> web.Response:
    return web.json_response(
        {"kind": "Status", "reason": reason, "message": message, "code": status}, status=status
    )
