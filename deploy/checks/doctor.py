"""`muster doctor`: chooses the checks for the servers and folders that the settings of this machine name."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from deploy.checks.configuration.checking import ConfigReport, Problem, ProcessSettings
from deploy.checks.findings import Check, Finding, Level, error, ok, warning, worst
from deploy.checks.machine import clock as clocks, disk, gpus, kernel, ports, programs
from deploy.checks.machine.clock import RemoteClock
from deploy.checks.machine.ports import ListeningPort
from deploy.checks.servers import bus, certificates, names, postgres, redis, store, web
from deploy.checks.servers.bus import BusLogin
from deploy.checks.servers.endpoints import Endpoint, endpoints_of
from deploy.embedded.preflight import NEEDED_BYTES
from deploy.embedded.services import MODULES
from deploy.postgres.urls import SERVICES
from shared.clock import SystemClock
from worker.connection.identity import load_identity
from worker.connection.join_command import default_directory
from worker.paths import WorkerPaths
from worker.settings import WorkerSection, inherited_environment

SETTINGS, MACHINE, NETWORK, SERVERS = "settings", "machine", "network", "servers"
_WHY_SETTINGS = "A process with wrong settings does not start, or does not do what they were meant to do."
_WHY_CREDENTIALS = "A worker whose credentials expire must join again; it renews them while it runs."


def plan_checks(report: ConfigReport) -> list[Check]:
    """Return the checks for these processes; without any, those of a machine that is to become a worker."""
    found = list(_checks(report))
    unique = {(check.group, check.name): check for check in found}
    return list(unique.values())


def _checks(report: ConfigReport) -> Iterator[Check]:
    valid = [one for one in report.processes if one.settings is not None]
    for one in report.processes:
        yield Check(SETTINGS, one.process, _WHY_SETTINGS, partial(_settings_finding, one))
    if report.unknown:
        yield Check(SETTINGS, "names", _WHY_SETTINGS, partial(_names_finding, report.unknown))
    yield Check(MACHINE, "clock", clocks.WHY, partial(clocks.check_clock, _clocks(valid), SystemClock()))
    for one in valid:
        yield from _disks(one)
    workers = [one for one in report.processes if one.process == "worker"]
    if workers or not report.processes:
        yield from _worker_machine(workers[0] if workers else None)
    for one in valid:
        yield from _ports(one)
    endpoints = dict.fromkeys(endpoint for one in valid for endpoint in _endpoints(one))
    for endpoint in endpoints:
        yield from _network(endpoint)
    for one in valid:
        yield from _certificate_files(one)
        yield from _servers(one)


def _settings_finding(one: ProcessSettings) -> Finding:
    if not one.problems:
        return ok("valid")
    own = (setting for setting in one.explained if setting.name.startswith("MUSTER_WORKER__"))
    if one.process == "worker" and all(setting.source == "default" for setting in own):
        return warning(
            "this machine has no settings of a worker yet; the other checks use the defaults",
            "run `muster worker join`, as `muster worker token` on the platform prints it",
        )
    rest = f", and {len(one.problems) - 1} more" if len(one.problems) > 1 else ""
    return error(f"{one.problems[0].problem}{rest}", f"run `muster config check {one.process}`")


def _names_finding(unknown: Sequence[Problem]) -> Finding:
    return worst(
        Finding(Level(problem.level), f"nothing reads {problem.name}", problem.remedy) for problem in unknown
    )


def _clocks(processes: Sequence[ProcessSettings]) -> list[RemoteClock]:
    found: dict[str, RemoteClock] = {}
    for settings in (one.settings for one in processes):
        if own := getattr(settings, "postgres", None):
            found["Postgres"] = RemoteClock("Postgres", partial(postgres.read_clock, own))
        if own := getattr(settings, "redis", None):
            found["Redis"] = RemoteClock("Redis", partial(redis.read_clock, own))
        if own := getattr(settings, "s3", None):
            found["the object store"] = RemoteClock("the object store", partial(web.read_clock, own.url))
        if url := _gateway_url(settings):
            found["the gateway"] = RemoteClock(
                "the gateway", partial(web.read_clock, f"{url.rstrip('/')}/v1/health")
            )
    return list(found.values())


def _disks(one: ProcessSettings) -> Iterator[Check]:
    settings: Any = one.settings
    folders: dict[Path, int] = {}
    if one.process == "gateway":
        own = settings.gateway
        folders[own.admin_token_file.parent] = NEEDED_BYTES
        folders[own.spool_directory or own.admin_token_file.parent / "spool"] = NEEDED_BYTES
    if one.process == "worker":
        folders[settings.worker.directory] = max(NEEDED_BYTES, settings.worker.min_free_bytes)
    if one.process == "provisioner":
        folders[settings.provisioner.directory] = NEEDED_BYTES
    if settings.telemetry.directory is not None:
        folders[settings.telemetry.directory] = NEEDED_BYTES
    for folder, needed_bytes in folders.items():
        yield Check(MACHINE, f"disk {folder}", disk.WHY, partial(disk.check_disk, folder, needed_bytes))


def _worker_machine(one: ProcessSettings | None) -> Iterator[Check]:
    settings: Any = one.settings if one else None
    own: WorkerSection = (
        settings.worker if settings else WorkerSection(id="doctor", directory=default_directory())
    )
    if settings is None:
        yield Check(MACHINE, f"disk {own.directory}", disk.WHY, partial(disk.check_disk, own.directory))
    if own.sandbox == "auto":
        yield Check(MACHINE, "sandboxes", kernel.WHY_SANDBOXES, partial(kernel.check_sandboxes, own))
        yield Check(MACHINE, "seccomp", kernel.WHY_SECCOMP, kernel.check_seccomp)
    yield Check(MACHINE, "openat2", kernel.WHY_OPENAT2, kernel.check_openat2)
    yield Check(MACHINE, "control groups", kernel.WHY_CGROUPS, kernel.check_cgroups)
    if own.network != "host":
        yield Check(
            MACHINE, "network programs", programs.WHY_NETWORK, partial(programs.check_network_programs, own)
        )
    yield Check(
        MACHINE, "private networks", programs.WHY_NETWORK, partial(programs.check_private_networks, own)
    )
    yield Check(
        MACHINE, "container engine", programs.WHY_ENGINE, partial(programs.check_container_engine, own)
    )
    if own.kind != "cpu":
        yield Check(MACHINE, "GPUs", gpus.WHY, partial(gpus.check_gpus, own, inherited_environment()))


def _ports(one: ProcessSettings) -> Iterator[Check]:
    settings: Any = one.settings
    module = MODULES.get(one.process, one.process)
    wanted = [ListeningPort("MUSTER_SIDE__PORT", settings.side.host, settings.side.port, module)]
    if one.process == "gateway":
        own = settings.gateway
        wanted.append(ListeningPort("MUSTER_GATEWAY__PORT", own.host, own.port, module))
        wanted.append(ListeningPort("MUSTER_GATEWAY__GRPC_PORT", own.host, own.grpc_port, module))
    for port in wanted:
        if port.port:
            name = f"port {port.port} ({port.setting})"
            yield Check(MACHINE, name, ports.WHY, partial(ports.check_port, port))


def _endpoints(one: ProcessSettings) -> Iterator[Endpoint]:
    settings: Any = one.settings
    yield from endpoints_of("MUSTER_NATS__URL", _nats_url(one))
    if own := getattr(settings, "postgres", None):
        yield from endpoints_of("MUSTER_POSTGRES__SYSTEM_URL", own.system_url.get_secret_value())
    if own := getattr(settings, "redis", None):
        yield from endpoints_of("MUSTER_REDIS__URL", own.url.get_secret_value())
    if own := getattr(settings, "s3", None):
        yield from endpoints_of("MUSTER_S3__URL", own.url)
    if url := _gateway_url(settings):
        yield from endpoints_of(f"MUSTER_{one.process.upper()}__GATEWAY_URL", url)
    if settings.telemetry.otlp_endpoint:
        yield from endpoints_of("MUSTER_TELEMETRY__OTLP_ENDPOINT", settings.telemetry.otlp_endpoint)
    if (own := getattr(settings, "gateway", None)) and own.audit_store:
        yield from endpoints_of("MUSTER_GATEWAY__AUDIT_STORE__URL", own.audit_store.url)


def _network(endpoint: Endpoint) -> Iterator[Check]:
    if endpoint.is_name:
        yield Check(NETWORK, f"name {endpoint.host}", names.WHY, partial(names.check_name, endpoint))
    if endpoint.uses_tls:
        name = f"certificate of {endpoint.host}:{endpoint.port}"
        yield Check(
            NETWORK, name, certificates.WHY, partial(certificates.check_server_certificate, endpoint, _now())
        )


def _certificate_files(one: ProcessSettings) -> Iterator[Check]:
    own = getattr(one.settings, "gateway", None)
    for path in (own.tls_certificate_file, own.client_ca_file) if own else ():
        if path is not None:
            yield Check(
                NETWORK,
                f"certificate {path}",
                certificates.WHY,
                partial(certificates.check_certificate_file, path, _now()),
            )


def _servers(one: ProcessSettings) -> Iterator[Check]:
    settings: Any = one.settings
    login = BusLogin(one.process, _nats_url(one), settings.nats.credentials)
    if one.process == "worker":
        yield Check(SERVERS, "worker's credentials", _WHY_CREDENTIALS, partial(_check_worker, settings))
    else:
        yield Check(SERVERS, f"NATS as {one.process}", bus.WHY, partial(bus.check_bus, login))
    if one.process in SERVICES:
        name = f"Postgres as {one.process}"
        yield Check(
            SERVERS, name, postgres.WHY, partial(postgres.check_postgres, settings.postgres, one.process)
        )
    if own := getattr(settings, "redis", None):
        yield Check(SERVERS, "Redis", redis.WHY, partial(redis.check_redis, own))
    if own := getattr(settings, "s3", None):
        yield Check(SERVERS, "object store", store.WHY_STORE, partial(store.check_store, own))
    if (own := getattr(settings, "gateway", None)) and own.audit_store:
        yield Check(SERVERS, "audit store", store.WHY_LOCK, partial(store.check_object_lock, own.audit_store))
    if url := _gateway_url(settings):
        setting = f"MUSTER_{one.process.upper()}__GATEWAY_URL"
        yield Check(SERVERS, f"gateway {url}", web.WHY_GATEWAY, partial(web.check_gateway, url, setting))


def _check_worker(settings: Any) -> Finding:
    """Connect to the bus with the credentials of a joined worker."""
    folder = WorkerPaths(settings.worker.directory.absolute()).identity
    if not (folder / "credentials.json").exists():
        return warning(
            "this machine has not joined the platform yet",
            "run `muster worker join`, or start the worker with MUSTER_WORKER__JOIN_TOKEN",
        )
    identity = load_identity(folder)
    credentials = identity.credentials
    assert credentials is not None
    left = credentials.expires_at - _now()
    if left <= timedelta(0):
        return error(
            f"they expired at {credentials.expires_at:%Y-%m-%d %H:%M} UTC",
            "run `muster worker join` with a new token from `muster worker token`",
        )
    login = BusLogin(
        settings.worker.id, settings.nats_url(credentials.nats_url), identity=identity.identity()
    )
    return bus.check_bus(login)


def _nats_url(one: ProcessSettings) -> str:
    """Return the address of the bus; empty for a worker, which learns it at the join."""
    settings: Any = one.settings
    return "" if one.process == "worker" else settings.nats.url


def _gateway_url(settings: Any) -> str | None:
    own = getattr(settings, "worker", None) or getattr(settings, "provisioner", None)
    found: str | None = own.gateway_url if own else None
    return found


def _now() -> datetime:
    return SystemClock().now().astimezone(UTC)
