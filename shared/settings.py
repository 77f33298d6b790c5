"""Settings from environment variables `MUSTER_<SECTION>__<KEY>`: frozen, unknown keys rejected, secrets masked.

A service's own class adds the sections it needs (`postgres: PostgresSettings`) and one under its own name.
"""

import difflib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any, Literal, Self, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, SettingsConfigDict

from shared.errors import Rejected

PREFIX = "MUSTER_"
DELIMITER = "__"
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
SECTIONS = frozenset(
    {"nats", "postgres", "redis", "s3", "telemetry", "side", "log", "worker", "containers"}
    | {"gateway", "searcher", "scheduler", "provisioner", "registry", "simulator", "bus_keeper"}
)
"""All sections of the platform. One environment may configure all processes, so sections of other processes are allowed."""


class Section(BaseModel):
    """A group of settings: `MUSTER_<SECTION>__<KEY>`."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class NatsSettings(Section):
    """Connection to NATS.

    Attributes:
        url: Addresses of the NATS servers, comma-separated.
        credentials: The `.creds` file of this service, from `muster keys init`.
    """

    url: str = "nats://127.0.0.1:4222"
    credentials: Path | None = None


class PostgresSettings(Section):
    """The service's two Postgres logins.

    Attributes:
        owner_url: Not used. Accepted because services of release 0.2.0 needed it; only the migration step uses the owner's login.
        tenant_url: Login for requests, under row-level security.
        system_url: Login for background work on all tenants.
        pool_size: Maximum number of connections, for each login.
    """

    owner_url: SecretStr | None = None
    tenant_url: SecretStr
    system_url: SecretStr
    pool_size: int = Field(16, ge=1, le=100)


class RedisSettings(Section):
    """Rate limits and caches. Without Redis the platform continues with stricter limits.

    Attributes:
        url: Address of Redis or Valkey, with user and password: `rediss://USER:PASSWORD@HOST:6379/0`.
    """

    url: SecretStr


class S3Settings(Section):
    """The object store: any S3 server.

    Attributes:
        url: Address of the server, without the bucket.
        access_key: Key id of the account that reads and writes the bucket.
        secret_key: Secret of that key.
        bucket: Name of the bucket.
        region: Region that requests are signed for; most stores other than AWS accept any.
    """

    url: str
    access_key: SecretStr
    secret_key: SecretStr
    bucket: str = "muster"
    region: str = "us-east-1"


class TelemetrySettings(Section):
    """Destination of traces: an OTLP endpoint, else rotating files, else none.

    Attributes:
        otlp_endpoint: Address of an OTLP collector (HTTP).
        directory: Folder for traces as files, if there is no collector.
        file_bytes: Size at which a file is rotated.
    """

    otlp_endpoint: str | None = None
    directory: Path | None = None
    file_bytes: int = Field(8 * 1024 * 1024, ge=4096)


class SideSettings(Section):
    """The side port with `/live`, `/ready` and `/metrics`.

    Attributes:
        host: Address on which the side port listens.
        port: Number of the side port; 0 chooses a free one.
        token: Bearer token that reads `/metrics`. Required if the host is not a loopback address.
    """

    host: str = "127.0.0.1"
    port: int = Field(0, ge=0, le=65535)
    token: SecretStr | None = None

    @model_validator(mode="after")
    def _guarded(self) -> Self:
        if self.host not in LOOPBACK and self.token is None:
            raise ValueError(
                f"host {self.host} is not a loopback address: set MUSTER_SIDE__TOKEN to protect the side port"
            )
        return self


class LogSettings(Section):
    """Structured logs on standard error, one JSON object per line.

    Attributes:
        level: Least level of lines that are written.
    """

    level: Literal["debug", "info", "warning", "error"] = "info"


class ServiceSettings(BaseSettings):
    """Settings that every process has."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_nested_delimiter=DELIMITER, frozen=True, extra="forbid", env_ignore_empty=True
    )

    nats: NatsSettings = NatsSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    side: SideSettings = SideSettings()
    log: LogSettings = LogSettings()

    def masked(self) -> str:
        """Return the settings as JSON with secrets masked."""
        return self.model_dump_json(indent=2)


Settings = TypeVar("Settings", bound=ServiceSettings)


@dataclass(frozen=True, slots=True)
class SettingFault:
    """Why a process refuses a variable. `text` names it; `is_unknown`: the process has no such setting."""

    name: str
    text: str
    is_unknown: bool = False


@dataclass(frozen=True, slots=True)
class SettingField:
    """A setting of a process: its sections and name, its field, the section that has it, and whether it must be set."""

    path: tuple[str, ...]
    field: FieldInfo
    section: type[BaseModel]
    is_required: bool

    @property
    def name(self) -> str:
        """The variable's name."""
        return environment_name(self.path)


def load(kind: type[Settings]) -> Settings:
    """Return the settings from the environment.

    Raises:
        Rejected: A key is unknown, missing or invalid (`bad_settings`); the message names each of them.
    """
    _refuse_unknown_sections(os.environ, frozenset(kind.model_fields) | SECTIONS)
    settings, faults = read_settings(kind)
    if settings is None:
        raise Rejected("bad_settings", "; ".join(fault.text for fault in faults))
    return settings


def read_settings(kind: type[Settings]) -> tuple[Settings | None, Sequence[SettingFault]]:
    """Return the settings from the environment, or None and every reason why they are refused."""
    if faults := list(_find_broken_json(kind)):
        return None, faults
    try:
        return kind(), ()
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        return None, [fault for one in found for fault in _faults(one, kind)]


def settings_of(kind: type[BaseModel]) -> Iterator[SettingField]:
    """Yield every setting of a settings class, section by section."""
    yield from _fields(kind, (), is_used=True)


def environment_name(path: Sequence[str]) -> str:
    """Return the variable of a setting: `MUSTER_GATEWAY__PORT` for `("gateway", "port")`."""
    return PREFIX + DELIMITER.join(path).upper()


def _fields(kind: type[BaseModel], path: tuple[str, ...], *, is_used: bool) -> Iterator[SettingField]:
    for name, field in kind.model_fields.items():
        section = _section(field.annotation)
        is_required = is_used and field.is_required()
        if section is None:
            yield SettingField((*path, name), field, kind, is_required)
        else:
            # A section with a default is complete; one that may be missing requires its settings only if it is used.
            yield from _fields(section, (*path, name), is_used=is_required)


def _section(annotation: Any) -> type[BaseModel] | None:
    for one in (annotation, *get_args(annotation)):
        if isinstance(one, type) and issubclass(one, BaseModel):
            return one
    return None


def _find_broken_json(kind: type[BaseModel]) -> Iterator[SettingFault]:
    """Yield variables that must be JSON and are not. The settings class would raise an error that does not name them."""
    given = {name.upper(): text for name, text in os.environ.items() if text}
    names: dict[str, str] = {}
    for setting in settings_of(kind):
        names |= {environment_name(setting.path[:end]): "object" for end in range(1, len(setting.path))}
        if _is_list(setting.field.annotation):
            names[setting.name] = 'list, such as ["a", "b"]'
    for name, form in names.items():
        if name in given and not _is_json(given[name]):
            yield SettingFault(name, f"{name} must be a JSON {form}")


def _is_list(annotation: Any) -> bool:
    kinds = [one for one in (annotation, *get_args(annotation)) if one is not NoneType]
    return any(get_origin(one) in (tuple, list, set, frozenset) for one in kinds)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _refuse_unknown_sections(environment: Mapping[str, str], known: frozenset[str]) -> None:
    """Reject unknown sections such as `MUSTER_NATZ__URL`. Names without `__` belong to the SDK and are ignored."""
    for name in sorted(environment):
        section, delimiter, _ = name.removeprefix(PREFIX).lower().partition(DELIMITER)
        if not name.startswith(PREFIX) or not delimiter or section in known:
            continue
        near = difflib.get_close_matches(section, known, n=1)
        hint = f"did you mean {name.replace(section.upper(), near[0].upper(), 1)}?" if near else None
        raise Rejected("bad_settings", f"{name} is not a setting of Muster", hint=hint)


def _faults(fault: ErrorDetails, kind: type[BaseModel]) -> Iterator[SettingFault]:
    path = tuple(str(part) for part in fault["loc"])
    name = environment_name(path)
    match fault["type"]:
        case "missing":
            # Of a section without any setting, name those that it needs.
            for setting in settings_of(kind):
                if setting.is_required and setting.path[: len(path)] == path:
                    yield SettingFault(setting.name, f"{setting.name} is missing")
        case "extra_forbidden":
            yield SettingFault(name, f"{name} is not a setting of Muster", is_unknown=True)
        case _:
            yield SettingFault(name, f"{name}: {fault['msg']}")
