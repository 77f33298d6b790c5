"""Images of containers: pulled once per machine, pinned by digest for the whole experiment, and examined for what ranks need."""

import asyncio
import base64
import json
import re
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Self
from uuid import UUID

import structlog
from pydantic import BaseModel, ValidationError

from muster.errors import Rejected
from shared.messages.trial_specs import RegistryAuth
from worker.executors.container import MAX_NPROC, Engine, ulimit
from worker.store.records import StoredImage

PULL_S = 3600.0
PROBE_S = 60.0
PROGRESS_EVERY_S = 60.0
OLDEST_PYTHON = (3, 11)
MAX_CHARACTERS = 1000
RUNTIME_ANNOTATIONS = (
    "run.oci.",
    "io.podman.",
    "io.kubernetes.",
    "io.katacontainers.",
    "com.github.containers.virtcontainers.",
    "dev.gvisor.",
)
"""Podman passes annotations of an image on to its runtime, and these are commands to crun, Kata or gVisor, such as another filter of system calls."""
_PROBE = """
import json, sys
from importlib.metadata import version
def found(name):
    try:
        return version(name)
    except Exception:
        return ""
print(json.dumps({"python": list(sys.version_info[:2]), "torch": found("torch"), "horovod": found("horovod")}))
"""
_log = structlog.get_logger()

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")

LogLine = Callable[[str], None]
Pin = Callable[[str | None], Awaitable[str | None]]
"""Returns the digest that counts for the run's experiment: the first one that any of its runs has resolved. None: none has yet."""


@dataclass(frozen=True, slots=True)
class ImageRequest:
    """A run's request for an image. `needs_horovod`: whether its ranks train together by Horovod."""

    name: str
    tenant: UUID
    auth: RegistryAuth | None = None
    is_forced: bool = False
    needs_horovod: bool = False

    def with_auth(self, secret: str) -> Self:
        """Return the request with the credentials that a secret contains.

        Raises:
            Rejected: The secret is not `username:password`.
        """
        username, colon, password = secret.strip().partition(":")
        if not (username and colon and password):
            raise Rejected(
                "registry_auth_invalid",
                "the secret for the image's registry is not of the form username:password",
                place="environment.registry_auth.secret",
                hint="set the secret again: `muster secret set NAME --workspace W`",
            )
        return replace(self, auth=RegistryAuth(username=username, password=password))


class PythonOfImage(BaseModel):
    """Versions reported by an image's Python; empty if a package is missing."""

    python: tuple[int, int]
    torch: str = ""
    horovod: str = ""


@dataclass(frozen=True, slots=True)
class _Inspected:
    """An image in the engine's storage. `digests`: those by which registries may serve it."""

    id: str
    digests: tuple[str, ...]
    variables: dict[str, str]

    def stored(self, digest: str) -> StoredImage:
        return StoredImage(id=self.id, digest=digest, variables=self.variables)


@dataclass(frozen=True, slots=True)
class _Pulled:
    image: StoredImage
    python: PythonOfImage


@dataclass(slots=True)
class _Pull:
    """A pull in progress, shared by all runs that wait for it."""

    task: asyncio.Task[_Pulled] = field(init=False)

    async def wait(self, name: str, log: LogLine) -> _Pulled:
        """Wait until it ends. A run that ends meanwhile does not cancel it for others."""
        began = time.monotonic()
        while not (await asyncio.wait({self.task}, timeout=PROGRESS_EVERY_S))[0]:
            log(f"the image {name} has been pulled for {(time.monotonic() - began) / 60:.0f} min")
        return self.task.result()


class Images:
    """Images on this machine. A tenant gets an image only after the registry gave it to this tenant: another one's credentials do not count."""

    def __init__(self, engine: Engine | None) -> None:
        self._engine = engine
        self._known: dict[tuple[UUID, str], _Pulled] = {}
        self._pulls: dict[tuple[UUID, str], _Pull] = {}

    async def get(self, request: ImageRequest, pin: Pin, log: LogLine) -> StoredImage:
        """Return the image that the run's experiment uses, pulled if this tenant has not pulled it yet.

        Raises:
            Transient: The digest of the experiment's image is not available now.
            Rejected: There is no engine, the registry refuses, or the image lacks what ranks need.
            OSError: The engine does not answer.
        """
        if self._engine is None:
            raise Rejected(
                "no_container_engine",
                "this worker cannot run containers: no container engine is installed",
                place="environment.image",
                hint="install podman on the machine, set MUSTER_WORKER__CONTAINER_ENGINE, or choose another pool",
            )
        pulled = await self._pinned(self._engine, request, pin, log)
        return _with_horovod(request, pulled) if request.needs_horovod else pulled.image

    async def _pinned(self, engine: Engine, request: ImageRequest, pin: Pin, log: LogLine) -> _Pulled:
        if "@" in request.name:
            return await self._pulled(engine, request, log)
        digest = await pin(None)
        if digest is None:
            pulled = await self._pulled(engine, request, log)
            own = pulled.image.digest.partition("@")[2]
            digest = await pin(own) or own
            if digest == own:
                return pulled
            log(f"another run has resolved {request.name} already: the experiment uses {digest}")
        pinned = replace(request, name=f"{_repository(request.name)}@{digest}")
        try:
            return await self._pulled(engine, pinned, log)
        except Rejected as error:
            raise Rejected(
                error.code,
                f"{error.message} (all runs of the experiment use this digest, because its first run resolved {request.name} to it)",
                error.place,
                error.hint or "if the registry no longer has this digest, submit the experiment again",
            ) from error

    async def _pulled(self, engine: Engine, request: ImageRequest, log: LogLine) -> _Pulled:
        key = request.tenant, request.name
        if request.is_forced or key not in self._known:
            pulled = await self._pull(engine, request, log)
            self._known[key] = self._known[request.tenant, pulled.image.digest] = pulled
        return self._known[key]

    async def _pull(self, engine: Engine, request: ImageRequest, log: LogLine) -> _Pulled:
        key = request.tenant, request.name
        began = time.monotonic()
        pull = self._pulls.get(key)
        if pull is None:
            log(f"pulling the image {request.name}")
            pull = self._pulls[key] = _Pull()
            pull.task = asyncio.create_task(
                asyncio.to_thread(_pull_now, engine, request), name=f"pull {request.name}"
            )
            pull.task.add_done_callback(lambda _: self._pulls.pop(key, None))
        else:
            log(f"waiting for the image {request.name}, which another run is pulling")
        pulled = await pull.wait(request.name, log)
        log(f"the image {pulled.image.digest} is ready after {time.monotonic() - began:.1f} s")
        return pulled


def _pull_now(engine: Engine, request: ImageRequest) -> _Pulled:
    with tempfile.TemporaryDirectory(prefix="muster-registry-") as folder:
        file = Path(folder, "config.json")
        file.touch(mode=0o600)
        file.write_text(_credentials(request))
        variables = {"REGISTRY_AUTH_FILE": str(file), "DOCKER_CONFIG": folder}
        image = _resolve(engine, request.name, variables)
    python = _probe(engine, request.name, image)
    _log.info("pulled an image", name=request.name, digest=image.digest)
    return _Pulled(image, python)


def _resolve(engine: Engine, name: str, variables: Mapping[str, str]) -> StoredImage:
    """Pull an image; its `digest` is one by which the registry serves it: that of the list of all architectures if there is one."""
    found = _pull_and_inspect(engine, name, variables)
    if "@" in name:
        return found.stored(name)
    served, reason = [], "the engine knows no digest of it"
    for digest in found.digests:
        # An engine also lists digests that the image has elsewhere. Other machines could not pull these.
        named = f"{_repository(name)}@{digest}"
        try:
            if _pull_and_inspect(engine, named, variables).id == found.id:
                served.append(named)
        except Rejected as error:
            reason = error.message
    if not served:
        raise Rejected(
            "image_without_digest",
            f"the image {name} cannot be pinned, because its registry does not serve it by a digest: {reason}",
            place="environment.image",
        )
    lists = (one for one in served if len(served) > 1 and _is_list(engine, one, variables))
    return found.stored(next(lists, served[0]))


def _is_list(engine: Engine, name: str, variables: Mapping[str, str]) -> bool:
    """Whether a name means a list of images by architecture. Only a list refuses an architecture that does not exist."""
    options = ("--quiet", "--platform", "linux/none")
    return engine.run("pull", *options, name, timeout_s=PULL_S, **variables).returncode != 0


def _pull_and_inspect(engine: Engine, name: str, variables: Mapping[str, str]) -> _Inspected:
    pulled = engine.run("pull", "--quiet", name, timeout_s=PULL_S, **variables)
    if pulled.returncode:
        raise Rejected(
            "image_not_pulled",
            f"the image {name} could not be pulled: {_last_error(pulled.stderr)}",
            place="environment.image",
        )
    # Podman prints the image's id. By now its name may mean another one, which another tenant pulls.
    printed = pulled.stdout.decode().split()
    return _inspect(engine, printed[-1] if printed and engine.is_podman else name)


def _credentials(request: ImageRequest) -> str:
    """Return the engine's credentials file: those of the run, and never the machine's own."""
    if request.auth is None:
        return json.dumps({"auths": {}})
    given = base64.b64encode(f"{request.auth.username}:{request.auth.password}".encode()).decode()
    return json.dumps({"auths": {request.name.partition("/")[0]: {"auth": given}}})


def _inspect(engine: Engine, name: str) -> _Inspected:
    found = engine.run("image", "inspect", name)
    try:
        facts = json.loads(found.stdout)[0]
        variables = dict(one.partition("=")[::2] for one in facts["Config"].get("Env") or ())
        digests = dict.fromkeys(one.partition("@")[2] for one in facts["RepoDigests"])
        commands = [one for one in facts.get("Annotations") or () if one.startswith(RUNTIME_ANNOTATIONS)]
        image = _Inspected(str(facts["Id"]), tuple(filter(_DIGEST.fullmatch, digests)), variables)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise OSError(f"the image {name} could not be inspected: {_last_error(found.stderr)}") from error
    if commands:
        raise Rejected(
            "image_annotations",
            f"the image {name} has the annotation {commands[0]}, by which it could change the rights of its container",
            place="environment.image",
            hint="build the image without this annotation",
        )
    return image


def _probe(engine: Engine, name: str, image: StoredImage) -> PythonOfImage:
    """Run the image's Python once, without network and rights."""
    isolated = ("--network", "none", "--user", "65534:65534", *engine.rights)
    limits = ("--pids-limit", "64", "--memory", "512m")
    ulimits = (*ulimit("nofile", 1024), *ulimit("nproc", MAX_NPROC))
    command = ("--pull", "never", "--entrypoint", "python3", image.id, "-c", _PROBE)
    asked = engine.run("run", "--rm", *isolated, *limits, *ulimits, *command, timeout_s=PROBE_S)
    try:
        python = PythonOfImage.model_validate_json(asked.stdout[:MAX_CHARACTERS])
    except ValidationError:
        raise Rejected(
            "image_without_python",
            f"the image {name} cannot run trials: {_last_error(asked.stderr) or 'python3 printed nothing'}",
            place="environment.image",
            hint="use an image with python3 on its PATH",
        ) from None
    if python.python < OLDEST_PYTHON:
        raise Rejected(
            "image_python_too_old",
            f"the image {name} has Python {_dotted(python.python)}, and Muster's SDK needs {_dotted(OLDEST_PYTHON)} or newer",
            place="environment.image",
            hint="use an image with a newer python3 on its PATH",
        )
    return python


def _with_horovod(request: ImageRequest, pulled: _Pulled) -> StoredImage:
    """Return the image if it has Horovod, or if the worker's can be mounted: that is built for one Python and one torch."""
    image, python = pulled.image, pulled.python
    if python.horovod:
        return image
    if (python.python, python.torch) == (sys.version_info[:2], own_version("torch")) and own_version(
        "horovod"
    ):
        return StoredImage(image.id, image.digest, image.variables, mounts_horovod=True)
    has = f"torch {python.torch}" if python.torch else "no torch"
    own = own_version("torch") or "none"
    raise Rejected(
        "image_without_horovod",
        f"the image {request.name} has no Horovod, and the worker's was built for torch {own} on Python "
        f"{_dotted(sys.version_info[:2])}; the image has {has} on Python {_dotted(python.python)}",
        place="environment.image",
        hint="install Horovod in the image, use the same versions, or set distributed: torch",
    )


def own_version(package: str) -> str:
    """Return the version of one of the worker's packages; empty if it is missing."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _repository(name: str) -> str:
    """Return an image's name without tag and digest; a registry's port is not a tag."""
    name = name.partition("@")[0]
    folder, slash, last = name.rpartition("/")
    return folder + slash + last.partition(":")[0]


def _last_error(output: bytes) -> str:
    lines = [line.strip() for line in output.decode(errors="replace").splitlines() if line.strip()]
    return lines[-1][:MAX_CHARACTERS] if lines else ""


def _dotted(numbers: Sequence[int]) -> str:
    return ".".join(map(str, numbers))
