"""Reasons for which a process refuses to start, beyond its settings class: files that it reads, and combinations. The loaders are the process's own."""

import shlex
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from muster.errors import Rejected
from shared.settings import NatsSettings, PostgresSettings, RedisSettings, S3Settings, ServiceSettings

Rule = tuple[str, Callable[[], object]]
"""The setting that is to blame unless the error names one, and a call that raises Rejected, ValueError or OSError if the process would."""


def start_rules(process: str, settings: ServiceSettings) -> Iterator[Rule]:
    """Yield the rules of a process for valid settings. Nothing is created or changed."""
    yield from _servers(settings)
    own: dict[str, Callable[[Any], Iterator[Rule]]] = {
        "gateway": _gateway,
        "scheduler": _scheduler,
        "provisioner": _provisioner,
        "worker": _worker,
    }
    yield from own[process](settings) if process in own else ()


def _servers(settings: ServiceSettings) -> Iterator[Rule]:
    nats: NatsSettings = settings.nats
    for address in nats.url.split(","):
        yield "MUSTER_NATS__URL", partial(_check_address, address, "nats", "tls", "ws", "wss")
    if (path := nats.credentials) is not None:
        yield "MUSTER_NATS__CREDENTIALS", lambda: _check_credentials(path)
    postgres: PostgresSettings | None = getattr(settings, "postgres", None)
    if postgres is not None:
        for name in ("tenant_url", "system_url"):
            url = getattr(postgres, name).get_secret_value()
            yield f"MUSTER_POSTGRES__{name.upper()}", partial(_check_address, url, "postgresql", "postgres")
    redis: RedisSettings | None = getattr(settings, "redis", None)
    if redis is not None:
        url = redis.url.get_secret_value()
        yield "MUSTER_REDIS__URL", lambda: _check_address(url, "redis", "rediss", "unix")
    s3: S3Settings | None = getattr(settings, "s3", None)
    if s3 is not None:
        yield "MUSTER_S3__URL", lambda: _check_address(s3.url, "http", "https")


def _gateway(settings: Any) -> Iterator[Rule]:
    from services.gateway import secrets_files
    from services.gateway.platform.auth.sign_in.sign_in_file import load_sign_in
    from services.gateway.transports.tls import Tls, TlsFiles
    from services.gateway.user_secrets.local_keys import KEY_BYTES, LocalKeys

    own = settings.gateway
    yield "MUSTER_GATEWAY__SIGN_IN_FILE", lambda: load_sign_in(own.sign_in_file)
    yield (
        "MUSTER_GATEWAY__SECRETS",
        lambda: LocalKeys.load(own.secrets.key_file, own.secrets.keys, bytes(KEY_BYTES)),
    )
    # Both are created at the first start; a check must not do that.
    pepper = own.pepper_file or own.admin_token_file.with_name("gateway.pepper")
    if own.admin_token_file.exists():
        yield "MUSTER_GATEWAY__ADMIN_TOKEN_FILE", lambda: secrets_files.admin_token(own.admin_token_file)
    if pepper.exists():
        yield "MUSTER_GATEWAY__PEPPER_FILE", lambda: secrets_files.pepper(pepper)
    if own.tls_certificate_file is not None:
        files = TlsFiles(own.tls_certificate_file, own.tls_key_file, own.client_ca_file)
        yield "MUSTER_GATEWAY__TLS_CERTIFICATE_FILE", lambda: Tls(files)
    if own.audit_store is not None:
        yield (
            "MUSTER_GATEWAY__AUDIT_STORE__URL",
            lambda: _check_address(own.audit_store.url, "http", "https"),
        )


def _scheduler(settings: Any) -> Iterator[Rule]:
    from shared.auth.nats_jwt import WorkerIssuer

    file: Path = settings.scheduler.worker_issuer_file
    yield "MUSTER_SCHEDULER__WORKER_ISSUER_FILE", lambda: WorkerIssuer.from_json(file.read_text())


def _provisioner(settings: Any) -> Iterator[Rule]:
    from services.provisioner.drivers.host_resources import count_cores, find_gpus
    from services.provisioner.pools.catalogue import CatalogueFile
    from services.provisioner.providers.config import read_providers
    from services.provisioner.service import spec_of
    from services.provisioner.settings import inherited_environment

    own = settings.provisioner
    gpus = () if own.slot_kind == "cpu" else find_gpus(inherited_environment())
    yield "MUSTER_PROVISIONER__MINIMUM", lambda: spec_of(own, len(gpus), count_cores())
    yield "MUSTER_PROVISIONER__GATEWAY_URL", lambda: _check_address(own.gateway_url, "http", "https")
    if own.providers is not None:
        yield "MUSTER_PROVISIONER__PROVIDERS", lambda: read_providers(own.providers.read_text())
    if own.catalogue is not None:
        yield "MUSTER_PROVISIONER__CATALOGUE", lambda: CatalogueFile(own.catalogue)
    yield "MUSTER_PROVISIONER__WORKER_COMMAND", lambda: _check_program(own.worker_command[0])


def _worker(settings: Any) -> Iterator[Rule]:
    from worker.machine.slots import find_slots
    from worker.paths import WorkerPaths
    from worker.sandbox.uids import read_uid_range
    from worker.settings import inherited_environment

    own = settings.worker
    yield "MUSTER_WORKER__UID_RANGE", lambda: read_uid_range(own.uid_range)
    yield "MUSTER_WORKER__SLOTS", lambda: find_slots(own, inherited_environment())
    yield "MUSTER_WORKER__USER", partial(_check_user, own)
    if own.gateway_url is not None:
        yield "MUSTER_WORKER__GATEWAY_URL", lambda: _check_address(own.gateway_url, "http", "https")
    has_credentials = (WorkerPaths(own.directory.absolute()).identity / "credentials.json").exists()
    yield "MUSTER_WORKER__JOIN_TOKEN", lambda: _check_can_join(own, has_credentials)
    if own.container_engine is not None:
        yield "MUSTER_WORKER__CONTAINER_ENGINE", lambda: _check_engine(own.container_engine)
    for folder in own.readable_folders:
        yield "MUSTER_WORKER__READABLE", partial(_check_folder, folder)


def _check_address(url: str, *schemes: str) -> None:
    scheme, is_url, rest = url.strip().partition("://")
    if not is_url or scheme not in schemes or not rest:
        raise ValueError(f"it must be an address such as {schemes[0]}://HOST:PORT")


def _check_credentials(path: Path) -> None:
    text = path.read_text()
    if "BEGIN NATS USER JWT" not in text or "BEGIN USER NKEY SEED" not in text:
        raise ValueError(
            f"{path} is not a .creds file with a user's JWT and seed, as `muster keys init` writes"
        )


def _check_program(program: str) -> None:
    if shutil.which(program) is None:
        raise ValueError(f"the program {program} does not exist on this machine, or is not executable")


def _check_engine(command: str) -> None:
    _check_program(shlex.split(command)[0])


def _check_user(own: Any) -> None:
    from worker.sandbox.accounts import find_account
    from worker.sandbox.sandboxing import why_no_sandboxes

    if own.user is not None and why_no_sandboxes(own) is not None:
        find_account(own.user)


def _check_folder(folder: str) -> None:
    if not Path(folder).is_dir():
        raise ValueError(f"the folder {folder} does not exist on this machine")


def _check_can_join(own: Any, has_credentials: bool) -> None:
    if not has_credentials and not (own.gateway_url and (own.join_token or own.cloud)):
        raise Rejected(
            "join_needed",
            "this worker has not joined the platform, and its settings do not say how",
            hint="set MUSTER_WORKER__GATEWAY_URL and MUSTER_WORKER__JOIN_TOKEN, or run `muster worker join`",
        )
