"""Containers in the config: images, mounts, devices and capabilities."""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, field_validator
from pydantic_core import PydanticCustomError

from muster.config.base_section import Section, refusal, rule

_HOST = r"(?:localhost|[a-zA-Z0-9-]+(?:\.[a-zA-Z0-9-]+)+|[a-zA-Z0-9-]+(?=:[0-9]))(?::[0-9]{1,5})?"
_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_IMAGE = re.compile(
    rf"(?:(?P<host>{_HOST})/)?(?P<path>{_PART}(?:/{_PART})*)(?P<tag>:[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}})?(?P<digest>@sha256:[0-9a-f]{{64}})?"
)
_OTHER_SOURCES = frozenset(
    ("atomic", "containers-storage", "dir", "docker-archive", "docker-daemon", "oci", "oci-archive", "ostree", "sif", "tarball")
)  # fmt: skip
"""Transports of container engines that read images of the machine, before a colon."""
_USE_A_REGISTRY = "push it to a registry and name it there, e.g. image: ghcr.io/team/train:1.4"
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)
_FACTORS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_TAKEN = ("/proc", "/sys", "/dev", "/tmp", "/opt/muster")  # noqa: S108 - of the container
"""Folders of a container that a mount must not replace."""

Kind = Literal["cpu", "cuda", "rocm"]


def full_image_name(name: str) -> str:
    """Return an image's name with its registry, as Docker completes it, and the tag `latest` if it has neither tag nor digest.

    Raises:
        PydanticCustomError: It is not the name of an image in a registry.
    """
    source, colon, _ = name.partition(":")
    if colon and source in _OTHER_SOURCES:
        raise refusal(
            f"the image {name[:100]!r} is not in a registry: '{source}:' names a file or an image of the machine, and images come only from registries",
            hint=_USE_A_REGISTRY,
        )
    found = _IMAGE.fullmatch(name)
    if found is None or len(name) > 512:
        raise refusal(
            f"{name[:100]!r} is not the name of an image in a registry ([registry[:port]/]path[:tag][@sha256:…]), and images come only from registries",
            hint=_USE_A_REGISTRY,
        )
    path = found["path"] if found["host"] or "/" in found["path"] else f"library/{found['path']}"
    tag = found["tag"] or ("" if found["digest"] else ":latest")
    return f"{found['host'] or 'docker.io'}/{path}{tag}{found['digest'] or ''}"


def is_full_image_name(name: str) -> bool:
    """Whether a name is one of an image in a registry, as `full_image_name` returns it."""
    try:
        return full_image_name(name) == name
    except PydanticCustomError:
        return False


def read_bytes(size: object) -> object:
    """Return a size such as `4 GiB`, `512m` or 1048576 in bytes; anything else unchanged."""
    if not isinstance(size, str):
        return size
    found = _SIZE.fullmatch(size.strip())
    if found is None:
        raise refusal(f"{size!r:.50} is not a size", hint="e.g. 4 GiB, 512m, or a number of bytes")
    return int(float(found[1]) * _FACTORS[found[2].lower()])


def read_capability(name: object) -> object:
    """Return the name of a capability without `CAP_`, in capitals."""
    return name.upper().removeprefix("CAP_") if isinstance(name, str) else name


def read_image(image: object) -> object:
    """Return the full name of an image, or of one per slot kind; `gpu` is Determined's older name of `cuda`."""
    if isinstance(image, str):
        return full_image_name(image)
    if isinstance(image, Mapping):
        kinds = {("cuda" if kind == "gpu" else kind): name for kind, name in image.items() if name}
        return {
            kind: full_image_name(name) if isinstance(name, str) else name for kind, name in kinds.items()
        }
    return image


SecretName = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
"""Names of secrets are names of environment variables."""
Size = Annotated[int, BeforeValidator(read_bytes), Field(ge=1, le=2**50)]
Capability = Annotated[str, BeforeValidator(read_capability), Field(pattern=r"^[A-Z][A-Z_]{1,31}$")]
Image = Annotated[str | dict[Kind, str], BeforeValidator(read_image)]


def _check_path(path: str) -> str:
    """Refuse paths that are not absolute or not in their shortest form, and characters that separate the engine's options."""
    plain = PurePosixPath(path)
    if (
        not plain.is_absolute()
        or ".." in plain.parts
        or str(plain) != path
        or re.search(r"[,:\"\\\x00-\x1f]", path)
    ):
        raise refusal(
            f"{path[:100]!r} must be an absolute path without '..', ',', ':' and a slash at its end",
            hint="e.g. /data/images",
        )
    return path


class BindMount(Section):
    """A folder of the machines that containers of the trial see. The site allows folders by name (`MUSTER_CONTAINERS__BIND_MOUNTS`).

    Attributes:
        host_path: Path on the machine, exactly as the site allows it.
        container_path: Path in the container.
        read_only: Whether the container may only read it.
    """

    refused: ClassVar[Mapping[str, str]] = {
        "propagation": "mounts are private to the container; remove the key"
    }

    host_path: str = Field(min_length=1, max_length=1024)
    container_path: str = Field(min_length=1, max_length=1024)
    read_only: bool = True

    @field_validator("host_path", "container_path")
    @classmethod
    def _is_a_path(cls, path: str) -> str:
        return _check_path(path)

    @rule
    def _replaces_no_own_folder(self) -> None:
        path = PurePosixPath(self.container_path)
        if path == PurePosixPath("/") or any(path.is_relative_to(taken) for taken in _TAKEN):
            raise refusal(
                f"{path} of the container is not free", "container_path", hint="e.g. container_path: /data"
            )


class ContainerDevice(Section):
    """A device file of the machines in the container. The site allows them by path (`MUSTER_CONTAINERS__DEVICES`). GPUs are not listed here.

    Attributes:
        host_path: Path on the machine.
        container_path: Path in the container.
        mode: Permissions: `r` to read, `w` to write, `m` to create.
    """

    host_path: str = Field(min_length=1, max_length=1024)
    container_path: str = Field(min_length=1, max_length=1024)
    mode: str = Field(default="rwm", pattern=r"^[rwm]{1,3}$")

    @field_validator("host_path", "container_path")
    @classmethod
    def _is_a_path(cls, path: str) -> str:
        return _check_path(path)


class RegistryAuth(Section):
    """Credentials for the image's registry. Members of the workspace can read the config: prefer a secret.

    Attributes:
        username: User name.
        password: Password or token.
        secret: Name of a secret of the workspace with the value `username:password`, in place of both.
    """

    refused: ClassVar[Mapping[str, str]] = dict.fromkeys(("serveraddress", "email", "auth", "identitytoken", "registrytoken"), "use username and password; the registry is the image's")  # fmt: skip

    username: str = Field(default="", max_length=256)
    password: str = Field(default="", max_length=8192)
    secret: SecretName | None = None

    @rule
    def _is_whole(self) -> None:
        if self.secret is not None:
            if self.username or self.password:
                raise refusal("registry_auth needs a secret, or a username and a password, not both")
            return
        if not self.username or not self.password or ":" in self.username:
            raise refusal("registry_auth needs a username without ':' and a password")
