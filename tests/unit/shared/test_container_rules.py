"""What a site allows for containers."""

from typing import Any

import pytest

from shared.container_rules import ContainerSettings, check_container
from shared.errors import Rejected
from shared.messages.trial_specs import BindMount, ContainerDevice, ContainerSpec

SITE = ContainerSettings(
    registries=("ghcr.io/lab", "quay.io"),
    bind_mounts=("/data", "/scratch:rw"),
    devices=("/dev/fuse",),
    capabilities=("SYS_PTRACE",),
    max_shm_bytes=1024,
)


def spec(image: str = "ghcr.io/lab/x:1", **more: Any) -> ContainerSpec:
    return ContainerSpec(images={"cpu": image}, **more)


def mount(path: str, *, read_only: bool) -> tuple[BindMount, ...]:
    return (BindMount(host_path=path, container_path="/mnt", read_only=read_only),)


def device(path: str) -> tuple[ContainerDevice, ...]:
    return (ContainerDevice(host_path=path, container_path=path),)


@pytest.mark.parametrize(
    "allowed",
    [
        spec("quay.io/any/thing:1"),
        spec(bind_mounts=mount("/data", read_only=True)),
        spec(bind_mounts=mount("/scratch", read_only=False)),
        spec(bind_mounts=mount("/scratch", read_only=True)),
        spec(devices=device("/dev/fuse"), add_capabilities=("SYS_PTRACE",), shm_bytes=1024),
        spec(drop_capabilities=("NET_RAW",)),
    ],
)
def test_what_the_site_lists_is_allowed(allowed: ContainerSpec) -> None:
    check_container(allowed, SITE)


@pytest.mark.parametrize(
    ("refused", "place", "setting"),
    [
        (spec("ghcr.io/labs/x:1"), "environment.image", "REGISTRIES"),
        (spec("quay.io.evil.org/x:1"), "environment.image", "REGISTRIES"),
        (spec("169.254.169.254/x:1"), "environment.image", "REGISTRIES"),
        (spec(bind_mounts=mount("/", read_only=True)), "bind_mounts[0]", "BIND_MOUNTS"),
        (spec(bind_mounts=mount("/data", read_only=False)), "bind_mounts[0]", "BIND_MOUNTS"),
        (spec(bind_mounts=mount("/data/link", read_only=True)), "bind_mounts[0]", "BIND_MOUNTS"),
        (spec(bind_mounts=mount("/data:rw", read_only=True)), "bind_mounts[0]", "BIND_MOUNTS"),
        (spec(devices=device("/dev/mem")), "resources.devices[0]", "DEVICES"),
        (spec(add_capabilities=("SYS_ADMIN",)), "environment.add_capabilities", "CAPABILITIES"),
        (spec(shm_bytes=1025), "resources.shm_size", "MAX_SHM_BYTES"),
    ],
)
def test_all_else_is_refused_with_its_place_and_the_setting(
    refused: ContainerSpec, place: str, setting: str
) -> None:
    with pytest.raises(Rejected) as told:
        check_container(refused, SITE)
    assert (told.value.code, told.value.place) == ("container_not_allowed", place)
    assert f"MUSTER_CONTAINERS__{setting}" in (told.value.hint or "")


@pytest.mark.parametrize(
    "image",
    ["containers-storage:alpine", "docker-archive:/etc/x", "dir:5000/x:1", "oci:/etc", "quay.io/x", "x:1", "--root=/:1", "docker://quay.io/x:1", "quay.io/x:1 y"],
)  # fmt: skip
def test_only_full_names_of_images_in_registries_are_allowed_whatever_the_site_lists(image: str) -> None:
    """Engines take other names as files of the machine, images that are there, or options."""
    site = ContainerSettings(registries=("containers-storage", "dir", "dir:5000", "oci", "quay.io", "docker"))
    with pytest.raises(Rejected) as told:
        check_container(spec(image), site)
    assert (told.value.code, told.value.place) == ("image_name_invalid", "environment.image")
    assert "push it to a registry" in (told.value.hint or "")


def test_by_default_a_container_has_an_image_and_nothing_of_the_machine() -> None:
    site = ContainerSettings()
    check_container(spec("docker.io/library/python:3.12"), site)
    for more in (
        {"bind_mounts": mount("/data", read_only=True)},
        {"devices": device("/dev/fuse")},
        {"add_capabilities": ("SYS_PTRACE",)},
    ):
        with pytest.raises(Rejected):
            check_container(spec("docker.io/library/python:3.12", **more), site)
