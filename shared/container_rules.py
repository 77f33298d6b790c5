"""Limits of a site for the containers of trials: `MUSTER_CONTAINERS__…`. Checked at submission by the searcher, and again by the worker."""

from collections.abc import Iterator

from pydantic import Field

from muster.config.containers import is_full_image_name
from shared.errors import Rejected
from shared.messages.trial_specs import ContainerSpec
from shared.settings import Section

_ASK = "ask the site's operator to add it to {name}, or remove it from the config"


class ContainerSettings(Section):
    """Limits for the containers of trials. Set the same values for the searcher and all workers.

    Attributes:
        registries: Registries or repositories of images: `ghcr.io`, or `ghcr.io/lab` for all that begins with it.
        bind_mounts: Folders of the machines that may be mounted, read-only: `/data`. With `:rw` also writable: `/scratch:rw`. Their
            subfolders may not be mounted on their own.
        devices: Device files of the machines: `/dev/infiniband/uverbs0`. GPUs need no entry.
        capabilities: Capabilities that may be added: `SYS_PTRACE`.
        max_shm_bytes: Maximum of `shm_size`.
    """

    registries: tuple[str, ...] = ("docker.io", "ghcr.io", "quay.io", "nvcr.io")
    bind_mounts: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    max_shm_bytes: int = Field(64 * 1024**3, ge=0)


def check_container(spec: ContainerSpec, site: ContainerSettings) -> None:
    """Refuse a container that the site does not allow.

    Raises:
        Rejected: The first request that is not allowed, with its place in the config (`container_not_allowed`), or an image that an
            engine could take for something else than one in a registry (`image_name_invalid`).
    """
    for image in sorted(set(spec.images.values())):
        if not is_full_image_name(image):
            raise Rejected(
                "image_name_invalid",
                f"{image[:100]!r} is not the full name of an image in a registry, and images come only from registries",
                place="environment.image",
                hint="push it to a registry and name it as registry/path:tag, such as ghcr.io/team/train:1.4",
            )
    for place, text, setting in _not_allowed(spec, site):
        name = f"MUSTER_CONTAINERS__{setting.upper()}"
        raise Rejected(
            "container_not_allowed",
            f"{text} is not allowed on this site",
            place=place,
            hint=_ASK.format(name=name),
        )


def _not_allowed(spec: ContainerSpec, site: ContainerSettings) -> Iterator[tuple[str, str, str]]:
    """Yield the place, a description and the limiting setting of everything that is not allowed."""
    for image in sorted(set(spec.images.values())):
        if not any(_is_below(image, prefix) for prefix in site.registries):
            yield "environment.image", f"the image {image}", "registries"
    for index, mount in enumerate(spec.bind_mounts):
        if f"{mount.host_path}:rw" in site.bind_mounts:
            continue
        if mount.host_path not in site.bind_mounts:
            yield f"bind_mounts[{index}]", f"mounting {mount.host_path}", "bind_mounts"
        elif not mount.read_only:
            yield f"bind_mounts[{index}]", f"writing to {mount.host_path}", "bind_mounts"
    for index, device in enumerate(spec.devices):
        if device.host_path not in site.devices:
            yield f"resources.devices[{index}]", f"the device {device.host_path}", "devices"
    for name in spec.add_capabilities:
        if name not in site.capabilities:
            yield "environment.add_capabilities", f"the capability {name}", "capabilities"
    if spec.shm_bytes > site.max_shm_bytes:
        yield "resources.shm_size", f"a shm_size of {spec.shm_bytes:,} bytes", "max_shm_bytes"


def _is_below(image: str, prefix: str) -> bool:
    """Whether an image is in a registry or repository: `ghcr.io/lab` contains `ghcr.io/lab/x` and not `ghcr.io/labs`."""
    return image.startswith((f"{prefix}/", f"{prefix}:", f"{prefix}@"))
