"""A container engine of the tests' own: its storage lies in a temporary folder, and images come from a registry on the loopback."""

import json
import os
import shutil
import subprocess
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.support.oci import Registry

SITE = Path(sysconfig.get_paths()["purelib"])
"""The packages of this Python, which runs may mount."""


@dataclass(frozen=True)
class Podman:
    """Podman with a storage of its own."""

    root: Path
    registry: Registry

    @property
    def words(self) -> tuple[str, ...]:
        storage = (
            "--root",
            str(self.root / "s"),
            "--runroot",
            str(self.root / "r"),
            "--storage-driver",
            "overlay",
        )
        return ("podman", *storage, "--runtime", "runc", "--cgroup-manager", "cgroupfs")

    @property
    def settings(self) -> dict[str, str]:
        """What a worker needs to use it."""
        return {
            "MUSTER_WORKER__CONTAINER_ENGINE": " ".join(self.words),
            "MUSTER_CONTAINERS__REGISTRIES": json.dumps([self.registry.address]),
            "MUSTER_CONTAINERS__BIND_MOUNTS": json.dumps([str(SITE)]),
            "CONTAINERS_REGISTRIES_CONF": str(self.root / "registries.conf"),
        }

    def run(self, *arguments: str) -> str:
        return subprocess.run([*self.words, *arguments], capture_output=True, text=True, check=True).stdout

    def containers(self) -> list[str]:
        return self.run("ps", "--all", "--format", "{{.Names}}").split()

    def clear_away(self) -> None:
        self.run("rm", "--all", "--force", "--time", "0")
        subprocess.run(
            ["umount", "--lazy", str(self.root / "s" / "overlay")], capture_output=True, check=False
        )
        shutil.rmtree(self.root, ignore_errors=True)


def start_podman(registry: Registry) -> Podman:
    # Podman limits the length of these paths.
    podman = Podman(Path(tempfile.mkdtemp(prefix="mp-", dir="/tmp")), registry)
    (podman.root / "registries.conf").write_text(
        f'[[registry]]\nlocation = "{registry.address}"\ninsecure = true\n'
    )
    os.chmod(podman.root, 0o711)
    return podman
