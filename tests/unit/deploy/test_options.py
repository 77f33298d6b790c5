"""The environment of `muster up`: which servers are used, which variables go on."""

from pathlib import Path

import pytest

from deploy.embedded.options import GRPC_PORT, NICENESS, REST_PORT, RUNS_NICENESS, load_options
from muster.errors import Rejected


def test_by_default_everything_is_started_here(tmp_path: Path) -> None:
    options = load_options({"MUSTER_HOME": str(tmp_path)})
    assert (options.home, options.keys) == (tmp_path, tmp_path / "keys")
    assert (options.nats_url, options.postgres_url, options.redis_url, options.s3) == (None,) * 4
    assert (options.rest_port, options.grpc_port) == (REST_PORT, GRPC_PORT)


def test_a_free_port_for_rest_means_one_for_grpc_too() -> None:
    options = load_options({"MUSTER_GATEWAY__PORT": "0"})
    assert (options.rest_port, options.grpc_port) == (0, 0)


@pytest.mark.parametrize("value", ["-1", "http", "65536", "8470 "])
def test_a_port_is_a_number(value: str) -> None:
    with pytest.raises(Rejected, match="MUSTER_GATEWAY__PORT"):
        load_options({"MUSTER_GATEWAY__PORT": value})


def test_runs_give_way_as_far_as_is_said() -> None:
    assert load_options({}).runs_niceness == RUNS_NICENESS > 0
    assert load_options({NICENESS: "0"}).runs_niceness == 0
    for value in ("-1", "20", "much"):
        with pytest.raises(Rejected, match="is not a valid niceness"):
            load_options({NICENESS: value})


def test_a_store_needs_its_keys() -> None:
    with pytest.raises(Rejected, match="without access keys"):
        load_options({"MUSTER_S3__URL": "http://store:9000"})


def test_addresses_of_servers_do_not_reach_services_unchanged() -> None:
    """A service refuses what it does not know, and the administrator's address is not its business."""
    options = load_options(
        {
            "MUSTER_POSTGRES__URL": "postgresql://admin:secret@db/postgres",
            "MUSTER_NATS__URL": "nats://bus:4222",
            "MUSTER_GATEWAY__PORT": "9000",
            "MUSTER_TOKEN": "mst_users",
            "MUSTER_LOG__LEVEL": "debug",
            "MUSTER_FAULTS": "x:1:kill",
            "CUDA_VISIBLE_DEVICES": "0",
        }
    )
    assert options.postgres_url == "postgresql://admin:secret@db/postgres"
    assert dict(options.inherited) == {
        "MUSTER_LOG__LEVEL": "debug",
        "MUSTER_FAULTS": "x:1:kill",
        "CUDA_VISIBLE_DEVICES": "0",
    }
    assert "secret" not in repr(options.inherited)
