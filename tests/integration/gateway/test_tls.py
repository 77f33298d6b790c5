"""Encrypted doors: REST and gRPC with a certificate, clients of gRPC by theirs, and a pair that is renewed while all goes on."""

import ssl
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import grpc.aio
import httpx
import pytest
from cryptography import x509

from services.gateway.operation_table import OPERATIONS
from services.gateway.transports.grpc.server import FULL_NAME
from tests.integration.gateway.conftest import Gateway, Others, start_gateway, stop_gateway
from tests.integration.gateway.matrix import MAPPER, ask_rpc
from tests.support.test_ca import HERE, Authority, authority
from tests.support.waiting import TIMEOUT_S, eventually

GET_ME = next(row for row in OPERATIONS if row.name == "GetMe")
FILE = """\
certificates:
  spiffe://acme/ci: {tenant: default, user: ci}
  spiffe://acme/nobody: {tenant: default, user: nobody}
"""
OURS, NEXT, CLIENTS, STRANGERS = (authority(name) for name in ("ours", "next", "clients", "strangers"))


def write_pair(folder: Path, signer: Authority) -> None:
    for name, content in zip(("tls.crt", "tls.key"), signer.issue(HERE), strict=True):
        draft = folder / f"{name}.new"
        draft.write_bytes(content)
        draft.replace(folder / name)


@pytest.fixture(scope="module")
async def gateway(
    settings: Callable[[str], dict[str, str]], others: Others, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Gateway]:
    folder = tmp_path_factory.mktemp("tls")
    write_pair(folder, OURS)
    (folder / "clients.crt").write_bytes(CLIENTS.pem)
    (folder / "sign-in.yaml").write_text(FILE)
    files = {"TLS_CERTIFICATE": "tls.crt", "TLS_KEY": "tls.key", "CLIENT_CA": "clients.crt"}
    named = {f"MUSTER_GATEWAY__{name}_FILE": str(folder / file) for name, file in files.items()}
    found = await start_gateway(settings("gateway"), folder, trusted=OURS.pem.decode(), **named)
    yield found
    await stop_gateway(found)


def rest(gateway: Gateway, *signers: Authority) -> httpx.AsyncClient:
    trusted = ssl.create_default_context(cadata="".join(one.pem.decode() for one in signers))
    return gateway.client(verify=trusted)


def channel(gateway: Gateway, pair: tuple[bytes, bytes] | None, signer: Authority = OURS) -> grpc.aio.Channel:
    certificate, key = pair or (None, None)
    credentials = grpc.ssl_channel_credentials(signer.pem, key, certificate)
    return grpc.aio.secure_channel(gateway.grpc_address, credentials)


def named(uri: str, signer: Authority = CLIENTS) -> tuple[bytes, bytes]:
    return signer.issue(x509.UniformResourceIdentifier(uri))


async def me(connected: grpc.aio.Channel, token: str = "") -> Any:
    """`GetMe` as gRPC answers it."""
    request = MAPPER.message_type(GET_ME.request)()
    call = connected.unary_unary(
        f"/{FULL_NAME}/GetMe",
        request_serializer=type(request).SerializeToString,
        response_deserializer=MAPPER.message_type(GET_ME.response).FromString,
    )
    metadata = (("authorization", f"Bearer {token}"),) if token else ()
    return await call(request, metadata=metadata, timeout=TIMEOUT_S)


async def test_a_program_is_known_by_its_certificate(gateway: Gateway) -> None:
    async with rest(gateway, OURS) as api:
        await api.post("/v1/users", json={"name": "ci", "kind": "service_account"})
        await api.post("/v1/role-bindings", json={"role": "editor", "user": "ci"})
        async with channel(gateway, named("spiffe://acme/ci")) as program:
            found = await me(program)
            assert (found.name, found.tenant_name) == (
                "ci",
                "default",
            ) and "experiment.write" in found.permissions
            # Who sends a token says by it who it is.
            assert (await me(program, gateway.admin_token)).name == "admin"
            assert await ask_rpc(program, GET_ME, {}, "mst_" + "A" * 43) is grpc.StatusCode.UNAUTHENTICATED
            await api.patch("/v1/users/ci", json={"disabled": True})

            async def is_refused() -> bool:
                return await ask_rpc(program, GET_ME, {}, "") is grpc.StatusCode.UNAUTHENTICATED

            await eventually(is_refused)


async def test_a_certificate_that_names_nobody_opens_nothing(gateway: Gateway) -> None:
    for uri in ("spiffe://acme/other", "spiffe://acme/nobody", "spiffe://acme/ci/x"):
        async with channel(gateway, named(uri)) as program:
            assert await ask_rpc(program, GET_ME, {}, "") is grpc.StatusCode.UNAUTHENTICATED, uri
    pair = CLIENTS.issue(x509.DNSName("spiffe.acme"), x509.RFC822Name("ci@acme"))
    async with channel(gateway, pair) as program:
        assert await ask_rpc(program, GET_ME, {}, "") is grpc.StatusCode.UNAUTHENTICATED


async def test_without_a_certificate_of_ours_there_is_no_connection(gateway: Gateway) -> None:
    for pair in (None, named("spiffe://acme/ci", STRANGERS)):
        async with channel(gateway, pair) as program:
            assert await ask_rpc(program, GET_ME, {}, gateway.admin_token) is grpc.StatusCode.UNAVAILABLE
    async with grpc.aio.insecure_channel(gateway.grpc_address) as program:
        assert await ask_rpc(program, GET_ME, {}, gateway.admin_token) is grpc.StatusCode.UNAVAILABLE
    async with httpx.AsyncClient() as client:
        with pytest.raises(httpx.TransportError):
            await client.get(gateway.url.replace("https:", "http:") + "/v1/health")


async def test_a_pair_that_does_not_fit_is_not_taken_and_a_new_one_is(gateway: Gateway) -> None:
    key = gateway.directory / "tls.key"
    kept = key.read_bytes()
    key.write_bytes(NEXT.issue(HERE)[1])

    def is_told() -> bool:
        return "new certificate files were not loaded" in gateway.log.read_text()

    await eventually(is_told)
    async with rest(gateway, OURS) as api, channel(gateway, named("spiffe://acme/x")) as program:
        assert (await api.get("/v1/me")).status_code == 200
        assert await ask_rpc(program, GET_ME, {}, gateway.admin_token) is grpc.StatusCode.OK
    key.write_bytes(kept)
    write_pair(gateway.directory, NEXT)

    async def is_new() -> bool:
        try:
            async with rest(gateway, NEXT) as api:
                return (await api.get("/v1/me")).status_code == 200
        except httpx.TransportError:
            return False

    await eventually(is_new)
    async with channel(gateway, named("spiffe://acme/x"), NEXT) as program:
        assert await ask_rpc(program, GET_ME, {}, gateway.admin_token) is grpc.StatusCode.OK
