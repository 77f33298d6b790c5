"""The providers' file: what it sets up, and what it says of what is wrong."""

import re
from pathlib import Path
from random import Random

import pytest

from services.provisioner.drivers.prices import read_prices
from services.provisioner.pools.catalogue import read_catalogue
from services.provisioner.providers.config import (
    AwsEntry,
    GcpEntry,
    SlurmEntry,
    read_providers,
)
from services.provisioner.providers.driver_factory import OpenedDrivers
from shared.clock import SystemClock
from shared.errors import Rejected

FILE = """
site: prod
gateway_url: https://muster.example
providers:
  aws:
    type: aws
    region: us-east-1
    image: ami-1
    subnets: {us-east-1a: subnet-a}
    packages: [muster-platform==0.2.0]
  aws-eu: {type: aws, region: eu-west-1, launch_template: workers}
  google: {type: gcp, project: research, image: projects/research/global/images/family/worker}
  cluster:
    type: slurm
    account: research
    kinds: {a100: {partition: gpu, gres: "gpu:a100:8", options: [--constraint=nvlink]}}
  k8s:
    type: kubernetes
    namespace: training
    image: registry.example/worker:0.2.0
    kinds: {a100: {resources: {nvidia.com/gpu: "8"}, tolerations: [{key: gpu, operator: Exists}]}}
"""


def test_each_provider_is_told_where_and_how() -> None:
    found = read_providers(FILE)
    aws, slurm = found.providers["aws"], found.providers["cluster"]
    assert isinstance(aws, AwsEntry) and isinstance(slurm, SlurmEntry)
    site = aws.site("prod", "https://muster.example")
    assert (site.name, site.region, site.subnets) == ("prod", "us-east-1", {"us-east-1a": "subnet-a"})
    assert (site.bootstrap.cloud, site.bootstrap.user) == ("aws", "muster-trial")
    job = slurm.site("prod", "https://muster.example", "/usr/bin").kinds["a100"]
    assert (job.gres, job.options) == ("gpu:a100:8", ("--constraint=nvlink",))
    assert slurm.site("prod", "https://muster.example", "/usr/bin").bootstrap.user is None


def test_the_examples_of_the_page_are_good(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "provisioning.md").read_text()
    _, *examples, catalogue, own = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert len(read_catalogue(catalogue).kinds) == 2
    (tmp_path / "own.yaml").write_text(own)
    assert [one.on_demand for one in read_prices(tmp_path / "own.yaml", ["a100-8"])] == [9.6]
    assert len(examples) == 4
    for example in examples:
        (entry,) = read_providers(f"site: prod\nproviders:\n{example}").providers.values()
        assert entry.type in ("aws", "gcp", "kubernetes", "slurm")


async def test_drivers_bear_the_names_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "providers.yaml"
    kubernetes = "url: http://127.0.0.1:9\n    image: registry"
    file.write_text(FILE.replace("image: registry", kubernetes))
    async with OpenedDrivers(file, "http://other", "/usr/bin", SystemClock(), Random(1)) as drivers:
        assert {name: driver.name for name, driver in drivers.items()} == {
            name: name for name in ("aws", "aws-eu", "google", "cluster", "k8s")
        }
    async with OpenedDrivers(None, "http://other", "/usr/bin", SystemClock(), Random(1)) as drivers:
        assert not drivers


@pytest.mark.parametrize(
    ("before", "after", "place", "message"),
    [
        ("site: prod", "site: Prod!", "site", "pattern"),
        ("region: us-east-1", "region: us-east-1a", "providers.aws.aws.region", "pattern"),
        ("type: slurm", "type: slurmm", "providers.cluster", "slurmm"),
        ("account: research", "acount: research", "providers.cluster.slurm.acount", "not permitted"),
        ("[--constraint=nvlink]", "[nvlink]", "providers.cluster.slurm.kinds.a100.options", "begin with --"),
        ("  k8s:", "  local:", "providers", "is built in"),
        (
            "account: research",
            "environment: {MUSTER_WORKER__ID: me}",
            "providers.cluster.slurm.environment",
            "set by the provisioner",
        ),
        (
            "namespace: training",
            "namespace: training\n    kubeconfig: /k\n    url: http://k",
            "providers.k8s.kubernetes",
            "not both",
        ),
        ("site: prod", "site: [", None, "not YAML"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(
    before: str, after: str, place: str | None, message: str
) -> None:
    with pytest.raises(Rejected, match=re.escape(message)) as error:
        read_providers(FILE.replace(before, after, 1))
    assert error.value.code == "bad_providers"
    assert error.value.place == place


async def test_files_that_are_not_there_are_said(tmp_path: Path) -> None:
    with pytest.raises(Rejected, match=r"no\.yaml"):
        async with OpenedDrivers(tmp_path / "no.yaml", "", "", SystemClock(), Random(1)):
            pass
    key = tmp_path / "key.json"
    key.write_text("{}")
    file = tmp_path / "providers.yaml"
    file.write_text(FILE.replace("project: research", f"project: research, key_file: {key}"))
    with pytest.raises(Rejected, match="not a service account key"):
        async with OpenedDrivers(file, "", "", SystemClock(), Random(1)):
            pass


def test_google_signs_for_machines_that_have_an_account() -> None:
    keys = "project: research, identity_keys: https://www.googleapis.com/oauth2/v3/certs"
    entry = read_providers(FILE.replace("project: research", keys)).providers["google"]
    assert isinstance(entry, GcpEntry)
    with pytest.raises(Rejected, match="only for machines with a service account") as error:
        entry.site("prod", "")
    assert error.value.place == "service_account"


def test_machines_need_an_image() -> None:
    aws = read_providers(FILE.replace("    image: ami-1\n", "")).providers["aws"]
    assert isinstance(aws, AwsEntry)
    with pytest.raises(Rejected, match="that names an image"):
        aws.site("prod", "")
