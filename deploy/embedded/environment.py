"""Environment variables of each service: the addresses and credentials that it needs."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from deploy.postgres.urls import ServiceUrls

USES_REDIS = frozenset({"gateway"})
USES_S3 = frozenset({"registry"})
AUDIT_STORE = "MUSTER_GATEWAY__AUDIT_STORE__"


@dataclass(frozen=True, slots=True)
class S3Address:
    """An object store and the identity for one bucket of it."""

    url: str
    access_key: str
    secret_key: str
    bucket: str


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses of the servers. `audit_store`: bucket with Object Lock; None without one."""

    nats_url: str
    credentials: Mapping[str, Path]
    worker_issuer: Path
    postgres: Mapping[str, ServiceUrls]
    redis_url: str
    s3: S3Address
    audit_store: S3Address | None = None


def service_environment(service: str, addresses: Addresses) -> dict[str, str]:
    """Return a service's settings for the servers."""
    environment = {
        "MUSTER_NATS__URL": addresses.nats_url,
        "MUSTER_NATS__CREDENTIALS": str(addresses.credentials[service]),
    }
    if urls := addresses.postgres.get(service):
        environment |= postgres_environment(urls)
    if service in USES_REDIS:
        environment["MUSTER_REDIS__URL"] = addresses.redis_url
    if service in USES_S3:
        environment |= _s3_environment("MUSTER_S3__", addresses.s3)
    if service == "gateway" and addresses.audit_store is not None:
        environment |= _s3_environment(AUDIT_STORE, addresses.audit_store)
    if service == "scheduler":
        environment["MUSTER_SCHEDULER__WORKER_ISSUER_FILE"] = str(addresses.worker_issuer)
    return environment


def postgres_environment(urls: ServiceUrls) -> dict[str, str]:
    """Return a service's database settings. The owner's login is for the migration step only."""
    return {
        "MUSTER_POSTGRES__TENANT_URL": urls.tenant,
        "MUSTER_POSTGRES__SYSTEM_URL": urls.system,
    }


def _s3_environment(prefix: str, store: S3Address) -> dict[str, str]:
    return {
        f"{prefix}URL": store.url,
        f"{prefix}ACCESS_KEY": store.access_key,
        f"{prefix}SECRET_KEY": store.secret_key,
        f"{prefix}BUCKET": store.bucket,
    }
