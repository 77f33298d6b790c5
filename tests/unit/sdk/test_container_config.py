"""Containers in the config."""

from typing import Any

import pytest

from muster.config import load_config
from muster.config.containers import is_full_image_name
from muster.errors import Rejected

BASE: dict[str, Any] = {"entrypoint": "python3 t.py", "searcher": {"name": "single", "metric": "loss"}}
DIGEST = "@sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("given", "full"),
    [
        ("python", "docker.io/library/python:latest"),
        ("python:3.12-slim", "docker.io/library/python:3.12-slim"),
        ("team/train", "docker.io/team/train:latest"),
        ("ghcr.io/team/train:1.4", "ghcr.io/team/train:1.4"),
        ("localhost:5000/x" + DIGEST, "localhost:5000/x" + DIGEST),
        ("node1:5000/x:2", "node1:5000/x:2"),
        ("127.0.0.1:5000/a/b", "127.0.0.1:5000/a/b:latest"),
    ],
)
def test_images_have_full_names(given: str, full: str) -> None:
    assert load_config({**BASE, "environment": {"image": given}}).environment.image == full


@pytest.mark.parametrize(
    "given",
    ["oci:/etc", "docker-archive:/root/x.tar", "dir:/etc", "-v/x", "a b", "Team/X", "x@sha256:12", "--help", "/etc/passwd", "a:b:c", "", "docker-archive:/etc/x", "sif:/x",
     "docker://ghcr.io/x", "containers-storage:alpine", "docker-daemon:alpine:3", "dir:5000/x", "oci:1/x:2", "oci-archive:x", "ostree:x",
     "containers-storage:[overlay@/var/lib]alpine", "ghcr.io/x:1\n", " ghcr.io/x"],
)  # fmt: skip
def test_other_sources_of_images_are_refused(given: str) -> None:
    """They would make the engine read files of the machine, or be taken for its options."""
    with pytest.raises(Rejected):
        load_config({**BASE, "environment": {"image": given}})
    with pytest.raises(Rejected):
        load_config({**BASE, "environment": {"image": {"cpu": given or "-"}}})
    assert not is_full_image_name(given)


@pytest.mark.parametrize(
    "given", ["containers-storage:alpine", "docker-archive:/etc/x", "dir:5000/x", "oci:x"]
)
def test_the_refusal_of_another_source_says_what_why_and_what_to_do(given: str) -> None:
    with pytest.raises(Rejected) as refused:
        load_config({**BASE, "environment": {"image": given}})
    told = str(refused.value)
    assert given in told and f"'{given.partition(':')[0]}:'" in told and "only from registries" in told
    assert "push it to a registry" in (refused.value.hint or "")


@pytest.mark.parametrize("given", ["docker:24", "team/dir:1", "dir.example/x", "oci"])
def test_names_that_only_resemble_other_sources_are_names(given: str) -> None:
    image = load_config({**BASE, "environment": {"image": given}}).environment.image
    assert isinstance(image, str) and is_full_image_name(image)


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"environment": {"image": "x", "requirements": "r.txt"}}, "environment.requirements"),
        ({"environment": {"image": {"cuda": "x"}}, "resources": {"slot_kind": "cpu"}}, "environment.image"),
        ({"environment": {"image": "x"}, "bind_mounts": [{"host_path": "/a/../b", "container_path": "/b"}]}, "bind_mounts"),
        ({"environment": {"image": "x"}, "bind_mounts": [{"host_path": "/a,b", "container_path": "/b"}]}, "bind_mounts"),
        ({"environment": {"image": "x"}, "bind_mounts": [{"host_path": "/a", "container_path": "/proc/sys"}]}, "bind_mounts"),
        ({"environment": {"image": "x"}, "bind_mounts": [{"host_path": "/a", "container_path": "/"}]}, "bind_mounts"),
        ({"environment": {"image": "x"}, "bind_mounts": [{"host_path": "/a", "container_path": "/c", "propagation": "shared"}]}, "bind_mounts"),
        ({"environment": {"image": "x"}, "bind_mounts": [{"host_path": p, "container_path": "/c"} for p in ("/a", "/b")]}, "bind_mounts"),
        ({"environment": {"image": "x", "registry_auth": {"username": "u"}}}, "environment.registry_auth"),
        ({"environment": {"image": "x", "add_capabilities": ["sys admin"]}}, "environment.add_capabilities"),
        ({"environment": {"image": "x"}, "resources": {"shm_size": "much"}}, "resources.shm_size"),
        ({"environment": {"image": "x"}, "resources": {"devices": ["/dev/a:/dev/a:x"]}}, "resources.devices"),
        ({"bind_mounts": [{"host_path": "/a", "container_path": "/b"}]}, "bind_mounts"),
        ({"environment": {"image": "x"}, "resources": {"slots_per_trial": {"min": 1, "max": 2}}}, "resources.slot_kind"),
    ],
)  # fmt: skip
def test_what_no_container_can_have_is_refused_with_its_place(given: dict[str, Any], place: str) -> None:
    with pytest.raises(Rejected) as refused:
        load_config({**BASE, **given})
    assert (refused.value.place or "").startswith(place), refused.value


def test_sizes_and_capabilities_are_read_as_people_write_them() -> None:
    environment = {"image": "x", "add_capabilities": ["cap_sys_ptrace"]}
    config = load_config({**BASE, "environment": environment, "resources": {"shm_size": "512m"}})
    assert config.resources.shm_size == 512 * 2**20
    assert config.environment.add_capabilities == ("SYS_PTRACE",)
