"""Settings of the gateway: `MUSTER_GATEWAY__…`."""

from pathlib import Path
from typing import Self

from pydantic import Field, IPvAnyNetwork, model_validator

from services.gateway.platform.auth.forwarding import ForwardedHeader, Proxies
from shared.settings import NatsSettings, PostgresSettings, RedisSettings, Section, ServiceSettings


class WebhookSection(Section):
    """How webhooks are sent, and where they may go beside the internet: `MUSTER_GATEWAY__WEBHOOKS__…`.

    `networks`: internal networks that may be called too, such as `["10.1.2.0/24"]`.
    """

    networks: tuple[IPvAnyNetwork, ...] = ()
    timeout_s: float = Field(10.0, gt=0, le=60)
    first_pause_s: float = Field(5.0, gt=0)
    longest_pause_s: float = Field(3600.0, gt=0)
    give_up_after_s: float = Field(86_400.0, gt=0)
    delivered_kept_days: float = Field(7.0, gt=0)
    dead_kept_days: float = Field(30.0, gt=0)
    most_of_tenant: int = Field(100, ge=0)


class GatewaySection(Section):
    """The doors, who may come in, and how much.

    `admin_token_file` holds the default tenant's admin token; when there is no such file, one is made there (0600).
    `sign_in_file` names the providers that people and programs sign in with (`docs/sign-in.md`).
    `tls_certificate_file` and `tls_key_file` (PEM) encrypt REST and gRPC, and are read again when they change; with `client_ca_file`
    gRPC asks each client for a certificate that one of these authorities has signed.
    `trusted_proxies` are the networks of the site's own proxies, such as `["10.1.2.3/32"]`: what they say in `forwarded_header` of where a call
    comes from is believed.
    `web_directory` holds the dashboard as it was built, which is served at `/`; by default the checkout's `web/dist`, if it is there.
    `body_timeout_s` is what a request's body may take. `keep_alive_s` is what the headers of a request may take, from the opening of its connection or
    the answer before: it should exceed what a reverse proxy keeps an idle connection for.
    Each replica has its own `max_connections`, `streams_of_tenant` and concurrency limits. Of a tenant `max_concurrent_requests_of_tenant` requests are in
    progress at a time, of all tenants `max_concurrent_requests`; requests that ask other services count against `max_waiting_requests_of_tenant`,
    and uploads against `max_uploads_of_tenant`, instead. A caller without a token counts by its address. As many as `max_queued_requests_of_tenant` and `max_queued_requests` wait for at most `queue_timeout_s`; others are refused.
    `password_memory_kib` is what Argon2id takes for one password, in three passes: RFC 9106's second choice, and no less than OWASP asks for.
    `pepper_file` holds the secret that tokens are hashed with; default is `gateway.pepper` beside the former.
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
    max_concurrent_requests_of_tenant: int = Field(8, ge=1)
    max_waiting_requests_of_tenant: int = Field(64, ge=1)
    max_uploads_of_tenant: int = Field(16, ge=1)
    max_queued_requests: int = Field(512, ge=0)
    max_queued_requests_of_tenant: int = Field(256, ge=0)
    queue_timeout_s: float = Field(5.0, gt=0)
    streams_of_tenant: int = Field(2000, ge=1)
    max_code_bytes: int = Field(96 * 1024 * 1024, ge=1024)
    reads_per_s: float = Field(500.0, gt=0)
    writes_per_s: float = Field(200.0, gt=0)
    streams_per_s: float = Field(50.0, gt=0)
    joins_per_s: float = Field(10.0, gt=0)
    events_kept_days: float = Field(7.0, gt=0)
    webhooks: WebhookSection = WebhookSection()
    sign_in_file: Path | None = None
    passwords: bool = True
    password_memory_kib: int = Field(64 * 1024, ge=12 * 1024)
    session_idle_s: int = Field(3 * 86400, ge=60)
    session_life_s: int = Field(30 * 86400, ge=60)
    tls_certificate_file: Path | None = None
    tls_key_file: Path | None = None
    client_ca_file: Path | None = None
    web_directory: Path | None = None

    @property
    def proxies(self) -> Proxies:
        """Who is believed about where calls come from."""
        return Proxies(self.trusted_proxies, self.forwarded_header)

    @model_validator(mode="after")
    def _tls_is_whole(self) -> Self:
        if (self.tls_certificate_file is None) != (self.tls_key_file is None):
            raise ValueError("tls_certificate_file and tls_key_file belong together")
        if self.client_ca_file is not None and self.tls_certificate_file is None:
            raise ValueError(
                "client_ca_file takes tls_certificate_file: without TLS nobody shows a certificate"
            )
        return self


class Settings(ServiceSettings):
    """All that the gateway reads from its environment."""

    nats: NatsSettings = NatsSettings()
    postgres: PostgresSettings
    redis: RedisSettings | None = None
    gateway: GatewaySection
