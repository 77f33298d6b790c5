"""Jobs as different versions of Slurm tell of them, and what its refusals mean."""

from datetime import timedelta

import pytest

from services.provisioner.core.instances.instance import IntentId
from services.provisioner.core.instances.launches import Presence, worker_at
from services.provisioner.drivers.slurm.commands import refusal
from services.provisioner.drivers.slurm.queue import intent_of, job_name, read_jobs, sightings_of
from tests.contract.machine_driver import an_intent

INTENT = IntentId(an_intent().id)
NAME = job_name("site", INTENT)


def record(**facts: object) -> dict[str, object]:
    return {
        "name": NAME,
        "array_job_id": 12,
        "array_task_id": 0,
        "array_task_string": "",
        "job_state": "RUNNING",
    } | facts


def test_a_waiting_array_is_each_of_its_jobs() -> None:
    jobs = read_jobs(
        {"jobs": [record(array_task_id=None, array_task_string="0-2,5,7-9:2%3", job_state="PENDING")]}
    )
    assert [job.external_id for job in jobs] == [f"12_{index}" for index in (0, 1, 2, 5, 7, 9)]


def test_newer_versions_tell_numbers_and_states_in_another_way() -> None:
    newer = record(
        array_job_id={"set": True, "number": 12},
        array_task_id={"set": True, "number": 3},
        job_state=["RUNNING"],
    )
    waiting = record(
        array_job_id={"set": True, "number": 12},
        array_task_id={"set": False, "number": 0},
        array_task_string="4",
        job_state=["PENDING"],
    )
    assert [job.external_id for job in read_jobs({"jobs": [newer, waiting]})] == ["12_3", "12_4"]


@pytest.mark.parametrize(
    "state", ["COMPLETED", "CANCELLED", "NODE_FAIL", "TIMEOUT", "PREEMPTED", "COMPLETING"]
)
def test_jobs_that_have_ended_hold_no_machine(state: str) -> None:
    for job_states in (state, ["RUNNING", state]):
        (seen,) = sightings_of(read_jobs({"jobs": [record(job_state=job_states)]}), "site").values()
        assert seen.presence is Presence.ENDED


def test_a_node_is_paid_for_from_a_jobs_start_to_its_end() -> None:
    times = {"start_time": 1_800_000_000, "end_time": 1_800_003_600}
    (ended,) = read_jobs({"jobs": [record(job_state="COMPLETED", **times)]})
    assert ended.started_at is not None and ended.ended_at == ended.started_at + timedelta(hours=1)
    (runs,) = read_jobs({"jobs": [record(**times)]})
    assert runs.started_at == ended.started_at and runs.ended_at is None, (
        "Slurm tells when it would have to end"
    )
    (waits,) = read_jobs({"jobs": [record(job_state="PENDING", array_task_string="0", **times)]})
    assert waits.started_at is None


def test_a_worker_is_known_by_the_name_and_the_index_of_its_job() -> None:
    seen = sightings_of(
        read_jobs({"jobs": [record(array_task_id=4), record(array_task_id=4, array_job_id=9)]}), "site"
    )
    assert seen.keys() == {worker_at(INTENT, 4)}
    (one,) = seen.values()
    assert (one.external_id, one.extras, one.intent) == ("9_4", ("12_4",), INTENT)


def test_what_is_not_ours_has_no_intent() -> None:
    assert intent_of(NAME, "site") == INTENT
    assert intent_of(job_name("site-b", INTENT), "site") is None
    assert intent_of("muster-site-lunch", "site") is None
    assert intent_of("train.sh", "site") is None
    assert not read_jobs(
        {
            "jobs": [
                {
                    "name": "train.sh",
                    "job_id": 5,
                    "array_job_id": 0,
                    "array_task_id": None,
                    "job_state": "RUNNING",
                }
            ]
        }
    )


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ("Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)", "quota"),
        ("Invalid account or account/partition combination specified", "credentials"),
        ("Requested node configuration is not available", "bad_request"),
        ("Requested partition configuration not available now", "no_capacity"),
        ("Invalid partition name specified", "bad_request"),
        ("Something unheard of", "unknown"),
    ],
)
def test_refusals_have_causes(message: str, cause: str) -> None:
    refused = refusal(message, "a100")
    assert refused.cause == cause
    assert message in refused.reason
