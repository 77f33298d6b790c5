"""What is wrong is said clearly, with its place and what to do, and leaves nothing behind: on the command line and by REST."""

import json
from pathlib import Path

import httpx
import pytest

from tests.e2e.platform import TOY, Platform

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

GOOD = "entrypoint: python3 -m train\nsearcher: {name: single, metric: loss}\n"
LAUGHS = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"
BAD_CONFIGS = {
    "broken": ("name: [\n", "line"),
    "unknown key": (GOOD + "resorces: {}\n", "resources"),
    "alias bomb": (LAUGHS, "aliases"),
    "wrong type": (GOOD + "max_restarts: many\n", "max_restarts"),
    "nothing to search": (
        GOOD.replace("single", "random").replace("loss}", "loss, max_trials: 4}"),
        "hyperparameters",
    ),
    "empty choice": (GOOD + "hyperparameters: {x: {type: categorical, vals: []}}\n", "vals"),
    "no searcher": ("entrypoint: python3 train.py\n", "searcher"),
    "not a mapping": ("- 1\n", "mapping"),
    "unknown pool": (GOOD + "resources: {resource_pool: moon}\n", "moon"),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text((TOY / "train.py").read_text())
    (tmp_path / "config.yaml").write_text(GOOD)
    return tmp_path


def count(platform: Platform) -> int:
    return len(platform.client.experiments.list().all())


@pytest.mark.parametrize("name", BAD_CONFIGS)
def test_a_bad_config_is_refused_by_both_with_the_word_that_helps(
    platform: Platform, project: Path, name: str
) -> None:
    text, word = BAD_CONFIGS[name]
    before = count(platform)
    (project / "config.yaml").write_text(text)
    shown = platform.muster("experiment", "create", "config.yaml", cwd=project)
    assert shown.code == 3 and word in shown.err and "Traceback" not in shown.err, shown
    told = [line for line in shown.err.strip().splitlines() if not line.startswith("code: ")]
    assert len(told) == 1, "the code is shown, and what is wrong in one line"
    answer = post(platform, "/v1/experiments", {"config_yaml": text})
    problem = answer.json()
    assert 400 <= answer.status_code < 500 and answer.headers["content-type"].startswith(
        "application/problem+json"
    )
    assert word in json.dumps(problem) and problem["code"] and problem["detail"]
    assert count(platform) == before


def test_more_slots_than_there_can_be_are_refused_with_place_and_way_out(
    platform: Platform, project: Path
) -> None:
    (project / "config.yaml").write_text(GOOD + "resources: {slots_per_trial: 60000}\n")
    shown = platform.muster("experiment", "create", "config.yaml", cwd=project)
    assert shown.code == 3
    assert all(part in shown.err for part in ("60000", "resources.slots_per_trial", "ask for fewer slots"))


def test_links_in_the_code_are_refused(platform: Platform, project: Path) -> None:
    (project / "secret").symlink_to("/etc/passwd")
    shown = platform.muster("experiment", "create", "config.yaml", cwd=project)
    assert shown.code == 3 and "secret" in shown.err and "link" in shown.err


def test_an_archive_that_climbs_out_is_refused(platform: Platform) -> None:
    import gzip
    import hashlib
    import io
    import tarfile

    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        member = tarfile.TarInfo("../evil.py")
        member.size = 4
        tar.addfile(member, io.BytesIO(b"evil"))
    content = gzip.compress(packed.getvalue())
    sha256 = hashlib.sha256(content).hexdigest()
    answer = httpx.put(
        f"{platform.client.address.url}/v1/code/{sha256}", content=content,
        headers=bearer(platform) | {"Content-Type": "application/gzip"},
    )  # fmt: skip
    assert 400 <= answer.status_code < 500 and "evil" in answer.text
    wrong = httpx.put(
        f"{platform.client.address.url}/v1/code/{'0' * 64}", content=content,
        headers=bearer(platform) | {"Content-Type": "application/gzip"},
    )  # fmt: skip
    assert 400 <= wrong.status_code < 500


@pytest.mark.parametrize(
    "reference", ["99999", "0", "x", "018f0000-0000-7000-8000-000000000001", "1.2.3", "../me"]
)
def test_unknown_ids_are_not_found(platform: Platform, reference: str) -> None:
    shown = platform.muster("experiment", "describe", reference)
    assert shown.code == 4 and "not found" in shown.err, shown
    assert platform.muster("trial", "describe", reference).code == 4
    assert platform.muster("model", "describe", f"no-such-{reference}").code == 4


def test_a_body_that_is_not_json(platform: Platform) -> None:
    for content in (b"", b"{", b"[]", b"\xff\xfe", b'{"config": 1e999}', b"[" * 100_000):
        answer = httpx.post(
            f"{platform.client.address.url}/v1/experiments", content=content,
            headers=bearer(platform) | {"Content-Type": "application/json"},
        )  # fmt: skip
        assert 400 <= answer.status_code < 500, (content[:20], answer.text)
        assert answer.json()["detail"]


def test_without_a_token_nothing_is_shown(platform: Platform) -> None:
    url = platform.client.address.url
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic eDp5"}):
        answer = httpx.get(f"{url}/v1/experiments", headers=headers)
        assert answer.status_code == 401 and answer.json()["code"]


def test_the_same_key_makes_one_experiment(platform: Platform) -> None:
    sent = platform.client.experiments.put_code(TOY)
    body: dict[str, object] = {"config_yaml": GOOD + "hyperparameters: {steps: 1}\n", "code_sha256": sent}
    headers = {"Idempotency-Key": "e2e-key"}
    first = post(platform, "/v1/experiments", body, headers)
    second = post(platform, "/v1/experiments", body, headers)
    assert first.status_code == 201 and first.json()["number"] == second.json()["number"]
    other = post(platform, "/v1/experiments", body | {"name": "other"}, headers)
    assert 400 <= other.status_code < 500
    platform.client.experiments.wait(first.json()["number"], timeout_s=90)


def test_a_platform_that_is_not_there(platform: Platform, tmp_path: Path) -> None:
    from tests.e2e.platform import Platform as Other

    lost = Other(
        tmp_path,
        platform.environment | {"MUSTER_URL": "http://127.0.0.1:9", "MUSTER_TOKEN": "t"},
        platform.client,
    )
    shown = lost.muster("experiment", "list")
    assert shown.code == 6 and "muster up" in shown.err


def test_every_list_is_json_when_that_is_wanted(platform: Platform) -> None:
    for command in (
        ["experiment", "list"],
        ["model", "list"],
        ["worker", "list"],
        ["pool", "list"],
        ["queue"],
    ):
        shown = platform.muster(*command, "--json")
        assert shown.code == 0 and isinstance(json.loads(shown.out), list), (command, shown.err)


def post(
    platform: Platform, path: str, body: dict[str, object], headers: dict[str, str] | None = None
) -> httpx.Response:
    return httpx.post(
        platform.client.address.url + path, json=body, headers=bearer(platform) | (headers or {})
    )


def bearer(platform: Platform) -> dict[str, str]:
    return {"Authorization": f"Bearer {platform.client.address.token}"}
