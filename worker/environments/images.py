"""Images of containers: pulled once per machine, pinned by digest for the whole experiment, and examined for what ranks need."""

import asyncio
import base64
import json
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Self
from uuid import UUID

import structlog
from pydantic import BaseModel, ValidationError

from muster.errors import Rejected
from shared.messages.trial_specs import RegistryAuth
from worker.core.faults import CausedByTrial
from worker.environments.pulled_images import PulledImages, has_image, list_images, plain_id, remove_image
from worker.executors.container import MAX_CHARACTERS, MAX_NPROC, Engine, last_line, ulimit
from worker.store.records import StoredImage

PULL_S = 3600.0
PROBE_S = 60.0
PROGRESS_EVERY_S = 60.0
OLDEST_PYTHON = (3, 11)
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
_SHARE_OF_DISK = 0.5

LogLine = Callable[[str], None]
_Key = tuple[UUID, str]
"""A tenant and the name of an image."""
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
    size_bytes: int

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

    def __init__(self, engine: Engine | None, pulled: PulledImages, limit_bytes: int | None) -> None:
        """`limit_bytes`: of the images that this worker pulled; None: half of the disk. `in_use`, set later, returns the ids of the runs' images."""
        self._engine = engine
        self._record = pulled
        self._limit_bytes = limit_bytes
        self._known: dict[_Key, _Pulled] = {}
        self._pulls: dict[_Key, _Pull] = {}
        self._claims: Counter[_Key] = Counter()
        self._pulling = 0
        self._removing = asyncio.Lock()
        self._removals: set[asyncio.Task[None]] = set()
        self.in_use: Callable[[], Collection[str]] = tuple

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
        with ExitStack() as claims:  # until the run has the image, and `in_use` knows
            pulled = await self._pinned(self._engine, request, pin, log, claims)
        self._record.use(pulled.image.id)
        return _with_horovod(request, pulled) if request.needs_horovod else pulled.image

    async def _pinned(
        self, engine: Engine, request: ImageRequest, pin: Pin, log: LogLine, claims: ExitStack
    ) -> _Pulled:
        if "@" in request.name:
            return await self._pulled(engine, request, log, claims)
        digest = await pin(None)
        if digest is None:
            pulled = await self._pulled(engine, request, log, claims)
            own = pulled.image.digest.partition("@")[2]
            digest = await pin(own) or own
            if digest == own:
                return pulled
            log(f"another run has resolved {request.name} already: the experiment uses {digest}")
        pinned = replace(request, name=f"{_repository(request.name)}@{digest}")
        try:
            return await self._pulled(engine, pinned, log, claims)
        except Rejected as error:
            raise Rejected(
                error.code,
                f"{error.message} (all runs of the experiment use this digest, because its first run resolved {request.name} to it)",
                error.place,
                error.hint or "if the registry no longer has this digest, submit the experiment again",
            ) from error

    async def _pulled(
        self, engine: Engine, request: ImageRequest, log: LogLine, claims: ExitStack
    ) -> _Pulled:
        key = request.tenant, request.name
        claims.enter_context(self._claim(key))
        if request.is_forced or not await self._is_here(engine, key):
            await self._pull(engine, request, log)
        return self._known[key]

    @contextmanager
    def _claim(self, key: _Key) -> Iterator[None]:
        """Keep an image, once it is here, from being removed."""
        self._claims[key] += 1
        try:
            yield
        finally:
            self._claims[key] -= 1

    async def _is_here(self, engine: Engine, key: _Key) -> bool:
        """Whether the tenant has pulled the image, and nobody has removed it since."""
        pulled = self._known.get(key)
        return pulled is not None and await asyncio.to_thread(has_image, engine, pulled.image.id)

    async def _pull(self, engine: Engine, request: ImageRequest, log: LogLine) -> None:
        key = request.tenant, request.name
        began = time.monotonic()
        pull = self._pulls.get(key)
        if pull is None:
            log(f"pulling the image {request.name}")
            pull = self._pulls[key] = _Pull()
            pull.task = asyncio.create_task(self._pull_once(engine, request), name=f"pull {request.name}")
            pull.task.add_done_callback(lambda _: self._on_pulled(engine, key))
        else:
            log(f"waiting for the image {request.name}, which another run is pulling")
        pulled = await pull.wait(request.name, log)
        log(f"the image {pulled.image.digest} is ready after {time.monotonic() - began:.1f} s")

    async def _pull_once(self, engine: Engine, request: ImageRequest) -> _Pulled:
        async with self._removing:  # an image that is being removed would seem to be there
            self._pulling += 1
        try:
            image = await self._pull_and_record(engine, request)
            python = await asyncio.to_thread(_probe, engine, request.name, image)
        finally:
            self._pulling -= 1
        pulled = _Pulled(image, python)
        self._known[request.tenant, request.name] = self._known[request.tenant, image.digest] = pulled
        return pulled

    async def _pull_and_record(self, engine: Engine, request: ImageRequest) -> StoredImage:
        """Pull an image. Record all that is pulled for it, also if it turns out to be of no use."""
        before = await asyncio.to_thread(list_images, engine)
        pulls: list[tuple[str, _Inspected]] = []
        try:
            return await asyncio.to_thread(_pull_now, engine, request, pulls)
        finally:
            for name, found in pulls:
                if plain_id(found.id) not in before or found.id in self._record:
                    self._record.add(found.id, name, found.size_bytes)

    def _on_pulled(self, engine: Engine, key: _Key) -> None:
        self._pulls.pop(key, None)
        removal = asyncio.create_task(self._make_room(engine), name="remove images")
        self._removals.add(removal)
        removal.add_done_callback(self._removals.discard)

    async def _make_room(self, engine: Engine) -> None:
        """Remove images until the limit is kept, unless some are being pulled: the end of the last pull does it."""
        failed: set[str] = set()
        async with self._removing:
            try:
                limit = self._limit_bytes = await self._limit(engine)
                while not self._pulling and self._record.total_bytes > limit:
                    image = self._record.least_recent(failed | self._used())
                    if image is None:
                        return
                    self._known = {key: one for key, one in self._known.items() if one.image.id != image}
                    names = self._record.names_of(image)
                    if await asyncio.to_thread(remove_image, engine, image, names):
                        self._record.drop(image)
                        _log.info("removed an image", names=names, id=image)
                    else:
                        failed.add(image)
            except OSError as error:
                _log.warning("images could not be removed", error=str(error))

    def _used(self) -> set[str]:
        claimed = (key for key, count in self._claims.items() if count and key in self._known)
        return {*self.in_use(), *(self._known[key].image.id for key in claimed)}

    async def _limit(self, engine: Engine) -> int:
        if self._limit_bytes is not None:
            return self._limit_bytes
        return int(await asyncio.to_thread(_disk_bytes, engine) * _SHARE_OF_DISK)


def _disk_bytes(engine: Engine) -> int:
    """Return the size of the disk with the engine's images."""
    field = "{{.Store.GraphRoot}}" if engine.is_podman else "{{.DockerRootDir}}"
    asked = engine.run("info", "--format", field)
    if asked.returncode:
        raise OSError(f"the folder of images is not known: {last_line(asked.stderr)}")
    return shutil.disk_usage(asked.stdout.decode().strip()).total


def _pull_now(engine: Engine, request: ImageRequest, pulls: list[tuple[str, _Inspected]]) -> StoredImage:
    """Pull an image. Add each pulled name and image to `pulls`."""
    with tempfile.TemporaryDirectory(prefix="muster-registry-") as folder:
        file = Path(folder, "config.json")
        file.touch(mode=0o600)
        file.write_text(_credentials(request))
        variables = {"REGISTRY_AUTH_FILE": str(file), "DOCKER_CONFIG": folder}
        image = _resolve(engine, request.name, variables, pulls)
    _log.info("pulled an image", name=request.name, digest=image.digest)
    return image


def _resolve(
    engine: Engine, name: str, variables: Mapping[str, str], pulls: list[tuple[str, _Inspected]]
) -> StoredImage:
    """Pull an image; its `digest` is one by which the registry serves it: that of the list of all architectures if there is one."""
    found = _pull_and_inspect(engine, name, variables, pulls)
    if "@" in name:
        return found.stored(_local_name(name))
    served, reason = [], "the engine knows no digest of it"
    for digest in found.digests:
        # An engine also lists digests that the image has elsewhere. Other machines could not pull these.
        named = f"{_repository(name)}@{digest}"
        try:
            if _pull_and_inspect(engine, named, variables, pulls).id == found.id:
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
    return engine.run("pull", *options, _source(engine, name), timeout_s=PULL_S, **variables).returncode != 0


def _pull_and_inspect(
    engine: Engine, name: str, variables: Mapping[str, str], pulls: list[tuple[str, _Inspected]]
) -> _Inspected:
    pulled = engine.run("pull", "--quiet", _source(engine, name), timeout_s=PULL_S, **variables)
    if pulled.returncode:
        raise Rejected(
            "image_not_pulled",
            f"the image {name} could not be pulled: {last_line(pulled.stderr)}",
            place="environment.image",
        )
    # Podman prints the image's id. By now its name may mean another one, which another tenant pulls.
    printed = pulled.stdout.decode().split()
    found = _inspect(engine, printed[-1] if printed and engine.is_podman else _local_name(name))
    pulls.append((_local_name(name), found))
    return found


def _source(engine: Engine, name: str) -> str:
    """Return the argument of `pull`. Podman takes other names for files of the machine, and none of its sources takes a tag beside a digest."""
    return f"docker://{_local_name(name)}" if engine.is_podman else _local_name(name)


def _local_name(name: str) -> str:
    """Return the name of a pulled image: with its digest, else with its tag."""
    _, at, digest = name.partition("@")
    return f"{_repository(name)}@{digest}" if at else name


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
        named = dict.fromkeys(one.partition("@")[2] for one in facts["RepoDigests"])
        digests = tuple(filter(_DIGEST.fullmatch, named))
        commands = [one for one in facts.get("Annotations") or () if one.startswith(RUNTIME_ANNOTATIONS)]
        image = _Inspected(str(facts["Id"]), digests, variables, int(facts["Size"]))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise OSError(f"the image {name} could not be inspected: {last_line(found.stderr)}") from error
    if commands:
        raise CausedByTrial(
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
            f"the image {name} cannot run trials: {last_line(asked.stderr) or 'python3 printed nothing'}",
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


def _dotted(numbers: Sequence[int]) -> str:
    return ".".join(map(str, numbers))
