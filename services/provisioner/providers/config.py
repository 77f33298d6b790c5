"""The providers file: configured clouds and clusters, each with its own name, so that two regions are two providers."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from services.provisioner.drivers.aws.request import AwsSite
from services.provisioner.drivers.bootstrap import Bootstrap
from services.provisioner.drivers.gcp.request import GcpSite, GpuOf
from services.provisioner.drivers.kubernetes.objects import KubernetesSite, PodKind
from services.provisioner.drivers.slurm.driver import JobKind, SlurmSite
from shared.errors import Rejected

_NAME = re.compile(r"[a-z]([-a-z0-9]{0,30}[a-z0-9])?")
_OURS = re.compile(r"MUSTER_WORKER__(ID|DIRECTORY|POOL|SLOTS|KIND|ADDRESS|JOIN_TOKEN|GATEWAY_URL)")


class Entry(BaseModel):
    """Settings of every provider: how a machine becomes a worker.

    Attributes:
        packages: Packages that pip installs on a machine whose image has no platform.
        index_url: The package index for them; None: the gateway's, which also lists their dependencies with hashes.
        python: The interpreter that has the platform, or that creates its environment.
        user: The user that runs trials; `null`: the worker's own user, which does not isolate tenants.
        environment: Further settings of the workers. No secrets: a machine's tenants may read them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    packages: tuple[str, ...] = ()
    index_url: str | None = Field(None, pattern=r"^https?://")
    python: str = "python3"
    directory: str = Field("/var/lib/muster", pattern=r"^/")
    user: str | None = "muster-trial"
    contact_timeout_s: float = Field(1800.0, gt=0)
    gives_up_after_s: int = Field(1200, gt=0)
    environment: dict[str, str] = {}

    @field_validator("environment")
    @classmethod
    def _are_not_ours(cls, environment: dict[str, str]) -> dict[str, str]:
        for name in environment:
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
                raise ValueError(f"{name!r} is not a valid variable name")
            if _OURS.fullmatch(name):
                raise ValueError(f"{name} is set by the provisioner and cannot be overridden")
        return environment

    def bootstrap(self, gateway_url: str, cloud: str | None = None) -> Bootstrap:
        """Return how a machine of this provider becomes a worker."""
        return Bootstrap(
            gateway_url=gateway_url,
            cloud=cloud,
            packages=self.packages,
            index_url=self.index_url,
            python=self.python,
            directory=self.directory,
            user=self.user,
            contact_timeout_s=self.contact_timeout_s,
            gives_up_after_s=self.gives_up_after_s,
            environment=self.environment,
        )


class AwsEntry(Entry):
    """A region of AWS.

    The AWS library finds the credentials: the machine's role, its environment, or the file of the AWS command line.

    Attributes:
        identity_certificates: Certificates with which AWS signs identity documents in the region; with them machines
            join by their document instead of a token.
    """

    type: Literal["aws"]
    region: str = Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d$")
    endpoint: str | None = None
    launch_template: str | None = None
    image: str | None = None
    subnets: dict[str, str] = {}
    security_groups: tuple[str, ...] = ()
    instance_profile: str | None = None
    placement_group: str | None = None
    efa_interfaces: int = Field(0, ge=0, le=32)
    tags: dict[str, str] = {}
    identity_certificates: Path | None = None

    def site(self, name: str, gateway_url: str) -> AwsSite:
        if self.image is None and self.launch_template is None:
            raise Rejected(
                "bad_providers", "set `image`, or a `launch_template` that names an image", "image"
            )
        return AwsSite(
            name=name,
            region=self.region,
            bootstrap=self.bootstrap(gateway_url, "aws"),
            launch_template=self.launch_template,
            image=self.image,
            subnets=self.subnets,
            security_groups=self.security_groups,
            instance_profile=self.instance_profile,
            placement_group=self.placement_group,
            efa_interfaces=self.efa_interfaces,
            tags=self.tags,
        )


class GpuEntry(BaseModel):
    """GPUs added to machines of a kind."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: str
    count: int = Field(ge=1, le=16)


class GcpEntry(Entry):
    """A project of Google Cloud.

    Attributes:
        key_file: A service account key; without one the machine's own account is used.
        identity_keys: URL or file of the keys with which Google signs identity tokens; with them machines join by
            their token from Google instead of one of ours.
    """

    type: Literal["gcp"]
    project: str
    image: str
    key_file: Path | None = None
    endpoint: str | None = None
    disk_gib: int = Field(100, ge=10)
    disk_type: str = "pd-balanced"
    subnetworks: dict[str, str] = {}
    network_tags: tuple[str, ...] = ()
    gpus: dict[str, GpuEntry] = {}
    service_account: str | None = None
    has_external_address: bool = False
    labels: dict[str, str] = {}
    identity_keys: str | None = Field(None, pattern=r"^(https://|/)")

    def site(self, name: str, gateway_url: str) -> GcpSite:
        if self.identity_keys and self.service_account is None:
            raise Rejected(
                "bad_providers",
                "Google signs identity tokens only for machines with a service account",
                "service_account",
                "set a service account; it needs no role",
            )
        return GcpSite(
            name=name,
            project=self.project,
            image=self.image,
            bootstrap=self.bootstrap(gateway_url, "gcp"),
            disk_gib=self.disk_gib,
            disk_type=self.disk_type,
            subnetworks=self.subnetworks,
            network_tags=self.network_tags,
            gpus={kind: GpuOf(gpu.type, gpu.count) for kind, gpu in self.gpus.items()},
            service_account=self.service_account,
            has_external_address=self.has_external_address,
            labels=self.labels,
        )


class JobEntry(BaseModel):
    """Slurm options of a job of a kind."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    partition: str | None = None
    gres: str | None = None
    cpus: int | None = Field(None, ge=1)
    memory_gib: float | None = Field(None, gt=0)
    options: tuple[str, ...] = ()

    @field_validator("options")
    @classmethod
    def _are_options(cls, options: Sequence[str]) -> Sequence[str]:
        for option in options:
            if not option.startswith("--"):
                raise ValueError(f"{option!r} is not an sbatch option: options begin with --")
        return options


class SlurmEntry(Entry):
    """A Slurm cluster whose programs are installed here.

    Attributes:
        conf: Its `slurm.conf`, if not in its default location.
        prices: The site's own price file for `muster prices`.
    """

    type: Literal["slurm"]
    user: str | None = None
    conf: Path | None = None
    kinds: dict[str, JobEntry] = {}
    account: str | None = None
    qos: str | None = None
    time_limit: str | None = None
    log_directory: str | None = None
    prices: Path | None = None

    def site(self, name: str, gateway_url: str, path: str) -> SlurmSite:
        """Return the site; `path` is the search path of Slurm's programs."""
        return SlurmSite(
            name=name,
            bootstrap=self.bootstrap(gateway_url),
            environment={"PATH": path} | ({"SLURM_CONF": str(self.conf)} if self.conf else {}),
            kinds={
                kind: JobKind(job.partition, job.gres, job.cpus, job.memory_gib, job.options)
                for kind, job in self.kinds.items()
            },
            account=self.account,
            qos=self.qos,
            time_limit=self.time_limit,
            log_directory=self.log_directory,
        )


class PodEntry(BaseModel):
    """Resources of a pod of a kind."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    resources: dict[str, str]
    node_selector: dict[str, str] = {}
    tolerations: tuple[dict[str, str | int], ...] = ()
    shared_memory: str = "8Gi"


class KubernetesEntry(Entry):
    """A namespace of a Kubernetes cluster.

    The cluster is that of a `kubeconfig` (and its `context`), at a `url`, or the provisioner's own.

    Attributes:
        prices: The site's own price file for `muster prices`.
    """

    type: Literal["kubernetes"]
    user: str | None = None
    namespace: str
    image: str
    kubeconfig: Path | None = None
    context: str | None = None
    url: str | None = None
    token_file: Path | None = None
    ca_file: Path | None = None
    kinds: dict[str, PodEntry] = {}
    pull_secrets: tuple[str, ...] = ()
    service_account: str | None = None
    priority_class: str | None = None
    queue: str | None = None
    spot_selector: dict[str, str] = {}
    prices: Path | None = None

    @model_validator(mode="after")
    def _names_one_cluster(self) -> Self:
        if self.kubeconfig is not None and self.url is not None:
            raise ValueError("set kubeconfig or url, not both")
        return self

    def site(self, name: str, gateway_url: str) -> KubernetesSite:
        return KubernetesSite(
            name=name,
            namespace=self.namespace,
            image=self.image,
            bootstrap=self.bootstrap(gateway_url),
            kinds={
                kind: PodKind(pod.resources, pod.node_selector, pod.tolerations, pod.shared_memory)
                for kind, pod in self.kinds.items()
            },
            pull_secrets=self.pull_secrets,
            service_account=self.service_account,
            priority_class=self.priority_class,
            queue=self.queue,
            spot_selector=self.spot_selector,
        )


ProviderEntry = Annotated[AwsEntry | GcpEntry | SlurmEntry | KubernetesEntry, Field(discriminator="type")]


class ProviderEntries(BaseModel):
    """The whole file. `site` names this deployment on its machines; two deployments that share an account need different names."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    site: str = Field(pattern=f"^{_NAME.pattern}$")
    gateway_url: str | None = None
    providers: dict[str, ProviderEntry] = {}

    @field_validator("providers")
    @classmethod
    def _have_names(cls, providers: Mapping[str, ProviderEntry]) -> Mapping[str, ProviderEntry]:
        for name in providers:
            if not _NAME.fullmatch(name):
                raise ValueError(
                    f"{name!r} is not a valid provider name: use lower-case letters, digits and '-'"
                )
            if name in ("local", "static"):
                raise ValueError(f"the provider name {name} is built in; choose another name")
        return providers


def read_providers(text: str) -> ProviderEntries:
    """Parse the file. Raises Rejected (`bad_providers`) with the place of the first error."""
    try:
        found: Any = yaml.safe_load(text) or {}
        return ProviderEntries.model_validate(found)
    except yaml.YAMLError as error:
        raise Rejected("bad_providers", f"the providers file is not YAML: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise Rejected("bad_providers", first["msg"].removeprefix("Value error, "), place or None) from error
