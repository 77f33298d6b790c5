"""`muster worker`: the list, and what a drain says of the runs there and of how to take it back."""

import httpx
import pytest

from tests.unit.sdk.shell import Shell

WORKER = {
    "id": "w1", "pool": "default", "state": "draining", "slots": 4, "used_slots": 2, "isolated_user": False,
    "last_heartbeat_at": "2026-01-01T00:00:00Z",
}  # fmt: skip


@pytest.mark.parametrize(
    ("options", "worker", "words"),
    [
        ((), {}, "the runs on 2 of its 4 slots continue until they end"),
        (("--reclaim",), {}, "the runs on 2 of its 4 slots are asked to save and move"),
        ((), {"used_slots": 0}, "is draining: nothing runs there"),
        ((), {"state": "lost"}, "it is lost"),
    ],
)
def test_a_drain_says_what_becomes_of_the_runs(
    shell: Shell,
    options: tuple[str, ...],
    worker: dict[str, object],
    words: str,
) -> None:
    shell.answers["POST /v1/workers/w1/drain"] = httpx.Response(200, json=WORKER | worker)
    shown = shell("worker", "drain", "w1", *options)
    said = " ".join(shown.err.split())
    assert shown.code == 0 and words in said and "Undo with `muster worker undrain w1`" in said
    assert shell.sent("POST", "/v1/workers/w1/drain") == {"reclaim": bool(options)}


def test_an_undrain_says_how_it_stands(shell: Shell) -> None:
    shell.answers["POST /v1/workers/w1/undrain"] = httpx.Response(200, json=WORKER | {"state": "ready"})
    assert "worker w1 is back in service" in shell("worker", "undrain", "w1").err


def test_the_list_shows_labels(shell: Shell) -> None:
    page = {"items": [WORKER | {"labels": {"zone": "a", "rack": "r7"}}, WORKER | {"id": "w2"}]}
    shell.answers["GET /v1/workers"] = httpx.Response(200, json=page)
    assert "rack=r7,zone=a" in shell("worker", "list").out


def test_the_list_says_why_a_worker_gets_nothing(shell: Shell) -> None:
    full = "the disk of worker w1 is full: free space under /var/muster"
    page = {"items": [WORKER | {"state": "ready", "trouble": full}, WORKER | {"id": "w2"}]}
    shell.answers["GET /v1/workers"] = httpx.Response(200, json=page)
    shown = shell("worker", "list")
    assert shown.out.count("with problem") == 1
    assert f"{full}; no new runs start there until the problem is solved" in " ".join(shown.err.split())


def test_the_list_says_which_workers_have_no_network_boundary(shell: Shell) -> None:
    detail = "each run has its own user and namespaces; no network boundary: runs use the machine's network"
    worker = WORKER | {"isolation": "sandbox", "isolation_detail": detail}
    page = {"items": [worker | {"id": f"w{number}"} for number in range(7)] + [WORKER]}
    shell.answers["GET /v1/workers"] = httpx.Response(200, json=page)
    said = " ".join(shell("worker", "list").err.split())
    assert said == f"isolation of w0, w1, w2, w3, 3 more: {detail}"


@pytest.mark.parametrize("verb", ["drain", "undrain"])
def test_workers_are_chosen_by_their_labels(shell: Shell, verb: str) -> None:
    page = {"items": [WORKER | {"state": "ready"}, WORKER | {"id": "w2"}]}
    shell.answers[f"POST /v1/workers/{verb}"] = httpx.Response(200, json=page)
    shown = shell("worker", verb, "--label", "rack=r7", "--label", "zone=a", "--pool", "big")
    said = " ".join(shown.err.split())
    assert shown.code == 0 and "worker w1" in said and "worker w2" in said
    sent = shell.sent("POST", f"/v1/workers/{verb}")
    assert (sent["labels"], sent["pool"]) == ({"rack": "r7", "zone": "a"}, "big")


@pytest.mark.parametrize("given", [(), ("w1", "--label", "rack=r7"), ("--label", "rack")])
def test_neither_and_both_are_refused(shell: Shell, given: tuple[str, ...]) -> None:
    shown = shell("worker", "drain", *given)
    assert shown.code != 0 and "label" in shown.err


@pytest.mark.parametrize(
    ("verb", "words"), [("disable", "running trials continue"), ("enable", "is enabled")]
)
def test_a_single_slot_is_taken_out_and_back(shell: Shell, verb: str, words: str) -> None:
    shell.answers[f"POST /v1/workers/w1/slots/{verb}"] = httpx.Response(200, json=WORKER)
    shown = shell("worker", f"{verb}-slot", "w1", "2")
    assert shown.code == 0 and words in " ".join(shown.err.split())
    assert shell.sent("POST", f"/v1/workers/w1/slots/{verb}") == {"slot": 2}
