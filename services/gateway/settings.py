"""Settings of the gateway: `MUSTER_GATEWAY__…`."""

from pathlib import Path
from typing import Self

from pydantic import Field, IPvAnyNetwork, SecretStr, model_validator

from services.gateway.platform.auth.client_address import ForwardedHeader, Proxies
from shared.settings import (
    NatsSettings,
    PostgresSettings,
    RedisSettings,
    S3Settings,
    Section,
    ServiceSettings,
)


class WebhookSection(Section):
    """Delivery of webhooks: `MUSTER_GATEWAY__WEBHOOKS__…`.

    `allowed_networks` lists the internal networks that webhooks may call besides the internet, such as `["10.1.2.0/24"]`.
    """

    allowed_networks: tuple[IPvAnyNetwork, ...] = ()
    timeout_s: float = Field(10.0, gt=0, le=60)
    initial_backoff_s: float = Field(5.0, gt=0)
    max_backoff_s: float = Field(3600.0, gt=0)
    give_up_after_s: float = Field(86_400.0, gt=0)
    delivered_retention_days: float = Field(7.0, gt=0)
    dead_letter_retention_days: float = Field(30.0, gt=0)
    max_per_tenant: int = Field(100, ge=0)


class AuditStoreSection(S3Settings):
    """Bucket with Object Lock for anchors of the audit log: `MUSTER_GATEWAY__AUDIT_STORE__…`.

    `retention_days` is how long the store must keep each anchor; nobody can delete it before.
    """

    bucket: str = "muster-audit"
    retention_days: int = Field(365, ge=1, le=36_500)


class SecretsSection(Section):
    """User secrets: `MUSTER_GATEWAY__SECRETS__…`.

    `key_file` contains the master keys that encrypt the secrets, one per line, each of 64 hexadecimal digits, the newest first. `keys` replaces
    the file: the same keys, separated by commas. By default, the master key is derived from the pepper. All replicas need the same keys.
    """

    key_file: Path | None = None
    keys: SecretStr | None = None
    max_per_workspace: int = Field(100, ge=0)


class GatewaySection(Section):
    """Ports, authentication and limits of the gateway.

    `admin_token_file` contains the admin token of the default tenant. If the file does not exist, the gateway creates it with mode 0600.
    `pepper_file` contains the secret that tokens are hashed with; by default `gateway.pepper` next to `admin_token_file`.
    `sign_in_file` configures the identity providers for users and programs (`docs/sign-in.md`).
    `tls_certificate_file` and `tls_key_file` (PEM) enable TLS for REST and gRPC, and are reloaded when they change. With `client_ca_file`, gRPC requires
    client certificates signed by one of these authorities.
    `trusted_proxies` lists the networks of the site's reverse proxies, such as `["10.1.2.3/32"]`. Only requests from these may set the client address in
    `forwarded_header`.
    `audit_store` is a bucket with Object Lock, to which anchors of the audit log are written (`docs/audit.md`).
    `web_directory` contains the built dashboard, served at `/`; by default the checkout's `web/dist`, if it exists.
    `packages_directory` contains packages that machines install by pip from `/packages/simple/` (`docs/provisioning.md`); by default none are served.
    `body_timeout_s` limits the time to receive a request body. `keep_alive_s` limits the time to receive the headers of a request, from the opening of the
    connection or the previous response; set it higher than the idle timeout of a reverse proxy.
    `max_connections`, `max_streams_per_tenant` and the concurrency limits apply per replica. `max_concurrent_requests_per_tenant` and `max_concurrent_requests` limit the
    requests in progress per tenant and in total. Requests that query other services count against `max_waiting_requests_per_tenant` instead, and uploads against
    `max_uploads_per_tenant`. Unauthenticated callers are counted by address. Up to `max_queued_requests_per_tenant` and `max_queued_requests` further requests wait, for at
    most `queue_timeout_s`; others are refused.
    `password_memory_kib` is the memory that Argon2id uses per password, with three passes (RFC 9106, second recommended option; at least OWASP's minimum).
    """

    host: str = "127.0.0.1"
    port: int = Field(8080, ge=0, le=65535)
    grpc_port: int = Field(8081, ge=0, le=65535)
    admin_token_file: Path
    pepper_file: Path | None = None
    spool_directory: Path | None = None
    allowed_hosts: tuple[str, ...] = ("localhost", "127.0.0.1", "[::1]")
    trusted_proxies: tuple[IPvAnyNetwork, ...] = ()
    forwarded_header: ForwardedHeader = "X-Forwarded-For"
    deadline_s: float = Field(30.0, gt=0)
    upload_deadline_s: float = Field(900.0, gt=0)
    body_timeout_s: float = Field(10.0, gt=0)
    validate_timeout_s: float = Field(2.0, gt=0)
    query_timeout_s: float = Field(5.0, gt=0)
    plan_timeout_s: float = Field(25.0, gt=0, le=55)
    command_wait_s: float = Field(2.0, ge=0)
    follow_poll_s: float = Field(1.0, gt=0)
    keep_alive_s: float = Field(75.0, gt=0)
    max_connections: int = Field(4000, ge=16)
    max_concurrent_requests: int = Field(128, ge=1)
    max_concurrent_requests_per_tenant: int = Field(8, ge=1)
    max_waiting_requests_per_tenant: int = Field(64, ge=1)
    max_uploads_per_tenant: int = Field(16, ge=1)
    max_queued_requests: int = Field(512, ge=0)
    max_queued_requests_per_tenant: int = Field(256, ge=0)
    queue_timeout_s: float = Field(5.0, gt=0)
    max_streams_per_tenant: int = Field(2000, ge=1)
    max_code_bytes: int = Field(96 * 1024 * 1024, ge=1024)
    reads_per_s: float = Field(500.0, gt=0)
    writes_per_s: float = Field(200.0, gt=0)
    streams_per_s: float = Field(50.0, gt=0)
    joins_per_s: float = Field(10.0, gt=0)
    event_retention_days: float = Field(7.0, gt=0)
    webhooks: WebhookSection = WebhookSection()
    audit_store: AuditStoreSection | None = None
    secrets: SecretsSection = SecretsSection()
    sign_in_file: Path | None = None
    passwords: bool = True
    password_memory_kib: int = Field(64 * 1024, ge=12 * 1024)
    session_idle_timeout_s: int = Field(3 * 86400, ge=60)
    session_lifetime_s: int = Field(30 * 86400, ge=60)
    tls_certificate_file: Path | None = None
    tls_key_file: Path | None = None
    client_ca_file: Path | None = None
    web_directory: Path | None = None
    packages_directory: Path | None = None

    @property
    def proxies(self) -> Proxies:
        """Return the proxies whose forwarded client addresses are trusted."""
        return Proxies(self.trusted_proxies, self.forwarded_header)

    @model_validator(mode="after")
    def _tls_is_whole(self) -> Self:
        if (self.tls_certificate_file is None) != (self.tls_key_file is None):
            raise ValueError("set tls_certificate_file and tls_key_file together; one of them is missing")
        if self.client_ca_file is not None and self.tls_certificate_file is None:
            raise ValueError(
                "client_ca_file requires tls_certificate_file: clients send certificates only over TLS"
            )
        return self


class Settings(ServiceSettings):
    """Settings that the gateway reads from its environment."""

    nats: NatsSettings = NatsSettings()
    postgres: PostgresSettings
    redis: RedisSettings | None = None
    gateway: GatewaySection
