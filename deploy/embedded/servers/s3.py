"""The object store: MinIO's server if installed, else SeaweedFS with all its parts on loopback.

SeaweedFS's parts communicate over their own ports. All of them, HTTP and gRPC, require a certificate of an authority created for this
platform, which also closes their status pages. Volumes and filer additionally require tokens signed with random keys; the master's
HTTP commands are off. Only the S3 port accepts clients, which need S3 keys.
"""

import json
import shutil
import signal
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

from deploy.embedded.host.ports import LOOPBACK, accepts
from deploy.embedded.host.processes import Command
from deploy.embedded.servers.base import (
    Daemon,
    Health,
    Home,
    StopSigns,
    executable,
    plain_environment,
    write_private,
)
from deploy.embedded.servers.s3_probe import USUAL, FreeSpace, ProbeTimes, StoreProbe, StoreWatch

BUCKET = "muster"
AUDIT_BUCKET = "muster-audit"
"""Bucket with Object Lock for the anchors of the audit log."""
AUTHORITY, CERTIFICATE, KEY = "authority.crt", "part.crt", "part.key"
PORTS_NEEDED = 8
NICENESS = 3
"""Added to the niceness of runs: a checkpoint upload must not slow the training down (decision 0268)."""
MINIMUM_PART = 100
"""SeaweedFS refuses objects where less than a hundredth of the disk is free (`-volume.minFreeSpace`)."""
LITTLE_BYTES = 64 * 1024 * 1024
LITTLE_PART = 50
"""Below the greater of the two, a failure may come from the disk."""
_GRPC_PARTS = ("MASTER", "VOLUME", "FILER", "S3", "CLIENT")
_HTTPS_PARTS = ("MASTER", "VOLUME", "FILER", "CLIENT")
_SIGNING_KEYS = ("JWT_SIGNING", "JWT_SIGNING_READ", "JWT_FILER_SIGNING", "JWT_FILER_SIGNING_READ")


class S3Server(Daemon):
    """Code, checkpoints and model files, over S3's API.

    Three identities: the administrator creates buckets; the platform's and the audit log's can only access their bucket.

    Args:
        home: the platform's directories.
        ports: `PORTS_NEEDED` free ports.
        runs_niceness: the niceness of trainings on this machine; the server's is higher.
        times: intervals of probes and restarts.
    """

    name = "s3"
    stop_signs: StopSigns = ((signal.SIGTERM, 1.0),)

    def __init__(
        self,
        home: Home,
        ports: tuple[int, ...],
        runs_niceness: int = 0,
        times: ProbeTimes = USUAL,
    ) -> None:
        super().__init__(home)
        self.niceness = min(19, runs_niceness + NICENESS)
        self.minio = shutil.which("minio")
        self._ports = ports
        self.port = ports[0]
        self.administrator = ("muster-admin", home.secret("s3-admin-key"))
        self.platform = self.administrator if self.minio else ("muster", home.secret("s3-key"))
        self.audit = self.administrator if self.minio else ("muster-audit", home.secret("s3-audit-key"))
        self._watch = StoreWatch(StoreProbe(self.url, BUCKET, self.platform), times)

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def ports(self) -> tuple[int, ...]:
        return self._ports[:2] if self.minio else self._ports

    @property
    def certificates(self) -> Path:
        """The directory of the parts' certificate, its key and their authority."""
        return self.home.secrets / "s3-certificates"

    def prepare(self) -> None:
        self.home.data("s3").mkdir(parents=True, exist_ok=True)
        if not self.minio:
            write_private(self._identities, json.dumps({"identities": self._identity_rows()}))

    def command(self) -> Command:
        directory = self.home.data("s3")
        arguments, extra = self._minio(self.minio) if self.minio else self._weed()
        return Command(
            arguments=arguments,
            environment=plain_environment(self.home, directory, extra),
            log=self.log,
            directory=directory,
            niceness=self.niceness,
        )

    def ready(self) -> bool:
        """Whether the S3 gateway answers an unauthenticated request with 401 or 403."""
        if not accepts(self.port):
            return False
        try:
            urllib.request.urlopen(f"{self.url}/", timeout=1.0).close()
        except urllib.error.HTTPError as refusal:
            return refusal.code in (403, 401)
        except OSError:
            return False
        return False

    def start(self) -> None:
        self._watch.on_start()
        super().start()

    def check(self, now: float) -> Health:
        disk = shutil.disk_usage(self.home.root)
        return self._watch.check(now, free_space_on(disk.free, disk.total))

    def clean(self) -> None:
        for port in self._ports:
            for leftover in Path(tempfile.gettempdir()).glob(f"seaweedfs-*-{port}.sock"):
                leftover.unlink(missing_ok=True)

    @property
    def _identities(self) -> Path:
        return self.home.run / "s3.json"

    def _identity_rows(self) -> list[dict[str, object]]:
        own = [f"{action}:{BUCKET}" for action in ("Read", "Write", "List", "Tagging")]
        audit = [f"{action}:{AUDIT_BUCKET}" for action in ("Read", "Write", "List", "PutObjectRetention")]
        return [
            _identity("admin", self.administrator, ["Admin", "Read", "Write", "List", "Tagging"]),
            _identity("platform", self.platform, own),
            _identity("audit", self.audit, audit),
        ]

    def _weed(self) -> tuple[tuple[str, ...], dict[str, str]]:
        s3, s3_grpc, master, master_grpc, volume, volume_grpc, filer, filer_grpc = self._ports
        arguments = (
            executable("weed"), "-logtostderr=true", "server", f"-dir={self.home.data('s3')}",
            f"-ip={LOOPBACK}", f"-ip.bind={LOOPBACK}", "-disableHttp", "-idleTimeout=30",
            "-s3", f"-s3.config={self._identities}", f"-s3.port={s3}", f"-s3.port.grpc={s3_grpc}",
            "-s3.port.iceberg=0", "-s3.port.lance=0", "-s3.iam=false", "-s3.autoCreateBucket=false",
            "-s3.cacheCapacityMB=0", "-s3.readerCacheSizeMB=64",
            f"-master.port={master}", f"-master.port.grpc={master_grpc}", "-master.telemetry=false",
            "-master.volumeSizeLimitMB=1024", "-master.peers=none",
            f"-volume.port={volume}", f"-volume.port.grpc={volume_grpc}", "-volume.max=0",
            "-volume.preStopSeconds=0",
            f"-filer.port={filer}", f"-filer.port.grpc={filer_grpc}", "-filer.exposeDirectoryData=false",
        )  # fmt: skip
        keys = {f"WEED_{name}_KEY": self.home.secret(f"s3-{name.lower()}") for name in _SIGNING_KEYS}
        return arguments, {**keys, **self._grpc(), **self._https(), "GOGC": "50"}

    def _grpc(self) -> dict[str, str]:
        folder = self.certificates
        named = (("CERT", folder / CERTIFICATE), ("KEY", folder / KEY))
        parts = {f"WEED_GRPC_{part}_{name}": str(path) for part in _GRPC_PARTS for name, path in named}
        return {**parts, "WEED_GRPC_CA": str(folder / AUTHORITY)}

    def _https(self) -> dict[str, str]:
        files = {"CERT": CERTIFICATE, "KEY": KEY, "CA": AUTHORITY}
        parts = {
            f"WEED_HTTPS_{part}_{name}": str(self.certificates / file)
            for part in _HTTPS_PARTS
            for name, file in files.items()
        }
        return {**parts, "WEED_HTTPS_CLIENT_ENABLED": "true"}

    def _minio(self, program: str) -> tuple[tuple[str, ...], dict[str, str]]:
        arguments = (
            program, "server", "--quiet", "--address", f"{LOOPBACK}:{self._ports[0]}",
            "--console-address", f"{LOOPBACK}:{self._ports[1]}", str(self.home.data("s3")),
        )  # fmt: skip
        user, password = self.administrator
        return arguments, {"MINIO_ROOT_USER": user, "MINIO_ROOT_PASSWORD": password, "MINIO_BROWSER": "off"}


def free_space_on(free: int, total: int) -> FreeSpace:
    """Return the free space category of a disk, by its bytes."""
    if free < total / MINIMUM_PART:
        return FreeSpace.NONE
    return FreeSpace.LITTLE if free < max(LITTLE_BYTES, total / LITTLE_PART) else FreeSpace.ENOUGH


def _identity(name: str, pair: tuple[str, str], actions: list[str]) -> dict[str, object]:
    credentials = [{"accessKey": pair[0], "secretKey": pair[1]}]
    return {"name": name, "credentials": credentials, "actions": actions}
