"""State file, logs and addresses: what is written can be read, what grows is cut, nothing private slips into an address."""

from pathlib import Path

from deploy.embedded.environment import Addresses, S3Address, service_environment
from deploy.embedded.host.processes import ProcessId
from deploy.embedded.state import Part, State, load_state
from deploy.embedded.supervision.logfiles import rotate_logs
from deploy.postgres.urls import role_names, service_urls

PASSWORDS = {role: f"pw/{role}@:" for role in role_names()}


def test_the_state_comes_back_as_it_was(tmp_path: Path) -> None:
    part = Part("nats", "server", "running", ProcessId(5, 99), (4222,), 2)
    state = State("ready", ProcessId(1, 2), "http://a", "b:1", "", (part, Part("s3", "server", "external")))
    state.save(tmp_path)
    assert load_state(tmp_path) == state


def test_a_state_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    assert load_state(tmp_path) is None
    for text in ("", "[]", "{}", '{"parts": 3}'):
        (tmp_path / "state.json").write_text(text)
        assert load_state(tmp_path) is None


def test_a_log_that_grew_is_cut_in_place_and_three_are_kept(tmp_path: Path) -> None:
    log = tmp_path / "searcher.log"
    for turn in range(6):
        with log.open("a") as file:
            file.write(f"{turn}" * 100)
        rotate_logs(tmp_path, largest_bytes=50, max_rotated=3)
    assert log.stat().st_size == 0
    kept = sorted(path.name for path in tmp_path.iterdir())
    assert kept == ["searcher.log", "searcher.log.1", "searcher.log.2", "searcher.log.3"]
    assert (tmp_path / "searcher.log.1").read_text() == "5" * 100
    assert (tmp_path / "searcher.log.3").read_text() == "3" * 100


def test_a_small_log_stays(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("x")
    rotate_logs(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a.log"]


def test_a_services_address_names_its_roles_and_keeps_the_servers_place() -> None:
    socket = service_urls("postgresql://postgres:a@/postgres?host=/run/pg", PASSWORDS)["searcher"]
    assert (
        socket.tenant == "postgresql://muster_searcher_tenant:pw%2Fsearcher_tenant%40%3A@/muster?host=/run/pg"
    )
    remote = service_urls("postgresql://admin:a%40b@db:6000/postgres?sslmode=require&user=x", PASSWORDS)[
        "gateway"
    ]
    assert remote.owner == (
        "postgresql://muster_gateway_owner:pw%2Fgateway_owner%40%3A@db:6000/muster?sslmode=require"
    )


def test_each_service_is_told_its_own_secrets_only() -> None:
    services = ("gateway", "searcher", "scheduler", "provisioner", "registry")
    addresses = Addresses(
        nats_url="nats://n",
        credentials={service: Path(f"/keys/{service}.creds") for service in services},
        worker_issuer=Path("/keys/worker-issuer.json"),
        postgres=service_urls("postgresql://postgres:a@/postgres?host=/run/pg", PASSWORDS),
        redis_url="redis://r",
        s3=S3Address("http://s", "key", "secret", "muster"),
    )
    told = {service: service_environment(service, addresses) for service in services}
    assert [service for service in services if "MUSTER_S3__SECRET_KEY" in told[service]] == ["registry"]
    assert [s for s in services if "MUSTER_SCHEDULER__WORKER_ISSUER_FILE" in told[s]] == ["scheduler"]
    for service in services:
        others = [other for other in services if other != service]
        text = " ".join(told[service].values())
        assert not [other for other in others if f"{other}_owner" in text or f"{other}.creds" in text]
