"""Settings from environment variables `MUSTER_<SECTION>__<KEY>`: frozen, unknown keys rejected, secrets masked.

A service's own class adds the sections it needs (`postgres: PostgresSettings`) and one under its own name.
"""

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, model_validator
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
    """Connection to NATS. `credentials`: path of a `.creds` file."""

    url: str = "nats://127.0.0.1:4222"
    credentials: Path | None = None


class PostgresSettings(Section):
    """The service's two Postgres logins: tenant (row-level security) and system (all tenants).

    `pool_size`: maximum number of connections, for each of them. `owner_url` is accepted because services of
    release 0.2.0 needed it; now only the migration step uses the owner's login.
    """

    owner_url: SecretStr | None = None
    tenant_url: SecretStr
    system_url: SecretStr
    pool_size: int = Field(16, ge=1, le=100)


class RedisSettings(Section):
    """Rate limits and caches. Without Redis the platform continues with stricter limits."""

    url: SecretStr


class S3Settings(Section):
    """The object store: any S3 server."""

    url: str
    access_key: SecretStr
    secret_key: SecretStr
    bucket: str = "muster"
    region: str = "us-east-1"


class TelemetrySettings(Section):
    """Destination of traces: an OTLP endpoint, else rotating files in `directory`, else none."""

    otlp_endpoint: str | None = None
    directory: Path | None = None
    file_bytes: int = Field(8 * 1024 * 1024, ge=4096)


class SideSettings(Section):
    """The side port with `/live`, `/ready` and `/metrics`. Port 0 chooses a free port."""

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
    """Structured logs on standard error, one JSON object per line."""

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


def load(kind: type[Settings]) -> Settings:
    """Return the settings from the environment.

    Raises:
        Rejected: A key is unknown, missing or invalid (`bad_settings`); the message names each of them.
    """
    _refuse_unknown_sections(os.environ, frozenset(kind.model_fields) | SECTIONS)
    try:
        return kind()
    except ValidationError as error:
        faults = "; ".join(_sentence(fault) for fault in error.errors(include_url=False, include_input=False))
        raise Rejected("bad_settings", faults) from error


def _refuse_unknown_sections(environment: Mapping[str, str], known: frozenset[str]) -> None:
    """Reject unknown sections such as `MUSTER_NATZ__URL`. Names without `__` belong to the SDK and are ignored."""
    for name in sorted(environment):
        section, delimiter, _ = name.removeprefix(PREFIX).lower().partition(DELIMITER)
        if not name.startswith(PREFIX) or not delimiter or section in known:
            continue
        near = difflib.get_close_matches(section, known, n=1)
        hint = f"did you mean {name.replace(section.upper(), near[0].upper(), 1)}?" if near else None
        raise Rejected("bad_settings", f"{name} is not a setting of Muster", hint=hint)


def _sentence(fault: ErrorDetails) -> str:
    name = PREFIX + DELIMITER.join(str(part) for part in fault["loc"]).upper()
    match fault["type"]:
        case "missing":
            return f"{name} is missing"
        case "extra_forbidden":
            return f"{name} is not a setting of Muster"
        case _:
            return f"{name}: {fault['msg']}"
