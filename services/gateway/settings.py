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

    Attributes:
        allowed_networks: Internal networks that webhooks may call besides the internet, such as `["10.1.2.0/24"]`.
        timeout_s: Time limit of one delivery.
        initial_backoff_s: Pause before the first repetition of a failed delivery; it doubles with each further one.
        max_backoff_s: Longest pause between repetitions.
        give_up_after_s: Age at which an undelivered event becomes a dead letter.
        delivered_retention_days: How long delivered events are listed.
        dead_letter_retention_days: How long dead letters can be replayed.
        max_per_tenant: Maximum number of webhooks of a tenant.
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

    Attributes:
        bucket: Name of the bucket, which must have Object Lock.
        retention_days: How long the store must keep each anchor; nobody can delete it before.
    """

    bucket: str = "muster-audit"
    retention_days: int = Field(365, ge=1, le=36_500)


class SecretsSection(Section):
    """User secrets: `MUSTER_GATEWAY__SECRETS__…`.

    All replicas need the same keys.

    Attributes:
        key_file: The master keys that encrypt the secrets, one per line, each of 64 hexadecimal digits, the newest first. Default: a key
            that is derived from the pepper.
        keys: Replaces `key_file`: the same keys, separated by commas.
        max_per_workspace: Maximum number of secrets of a workspace.
    """

    key_file: Path | None = None
    keys: SecretStr | None = None
    max_per_workspace: int = Field(100, ge=0)


class GatewaySection(Section):
    """Ports, authentication and limits of the gateway.

    Limits of connections, streams and concurrent requests apply per replica. Unauthenticated callers are counted by address.

    Attributes:
        host: Address on which REST and gRPC listen.
        port: Port of REST and the dashboard; 0 chooses a free one.
        grpc_port: Port of gRPC; 0 chooses a free one.
        admin_token_file: The admin token of the default tenant. If the file does not exist, the gateway creates it with mode 0600.
        pepper_file: The secret that tokens are hashed with. Default: `gateway.pepper` next to `admin_token_file`.
        spool_directory: Folder for uploads in progress. Default: `spool` next to `admin_token_file`.
        allowed_hosts: Host names by which clients may address the gateway; requests to others are refused.
        trusted_proxies: Networks of the site's reverse proxies, such as `["10.1.2.3/32"]`. Only their requests may set the client address.
        forwarded_header: The header in which these proxies pass the client address.
        deadline_s: Time limit of a request.
        upload_deadline_s: Time limit of an upload.
        body_timeout_s: Time limit for receiving a request body.
        validate_timeout_s: How long a new experiment waits for scheduler and searcher to check it.
        query_timeout_s: How long a request waits for an answer of another service.
        plan_timeout_s: How long `muster plan` waits for its simulation.
        command_wait_s: How long a change waits for its owner, before it is answered as in progress.
        follow_poll_s: Interval at which followed logs and metrics are read.
        keep_alive_s: Time to receive the headers of a request, from the opening of the connection or the previous response. Set it
            higher than the idle timeout of a reverse proxy.
        max_connections: Maximum number of connections.
        max_concurrent_requests: Maximum number of requests in progress.
        max_concurrent_requests_per_tenant: Maximum number of requests in progress of one tenant.
        max_waiting_requests_per_tenant: The same for requests that query other services.
        max_uploads_per_tenant: The same for uploads.
        max_queued_requests: Requests beyond these limits that may wait; others are refused.
        max_queued_requests_per_tenant: The same for one tenant.
        queue_timeout_s: How long a request waits for one of these limits.
        max_streams_per_tenant: Maximum number of open streams of one tenant.
        max_code_bytes: Maximum size of a code archive.
        reads_per_s: Reads per second of one caller; bursts of twice as many are allowed.
        writes_per_s: Changes per second of one caller.
        streams_per_s: New streams per second of one caller.
        joins_per_s: Joins of workers per second.
        event_retention_days: How long events can be read again.
        sign_in_file: Identity providers for users and programs (`docs/sign-in.md`).
        passwords: Whether users can sign in with a password.
        password_memory_kib: Memory that Argon2id uses per password, with three passes (RFC 9106, second recommended option; at least
            OWASP's minimum).
        session_idle_timeout_s: A session without a request ends after this time.
        session_lifetime_s: Every session ends after this time.
        tls_certificate_file: The certificate with its chain (PEM), for REST and gRPC. It is loaded again when it changes.
        tls_key_file: The private key of the certificate (PEM).
        client_ca_file: Authorities of client certificates (PEM). If it is set, gRPC requires a client certificate.
        web_directory: The built dashboard, served at `/`. Default: the checkout's `web/dist`, if it exists.
        packages_directory: Packages that machines install by pip from `/packages/simple/` (`docs/provisioning.md`). Default: none are served.
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
