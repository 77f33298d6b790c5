"""The on-disk record of a run: one flat object, shared with daemons of other versions.

One state of the core is several fields here. No field may be removed or change its meaning; new ones need defaults.
"""

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel

from shared.ids import AllocationId, RunId
from shared.messages.allocations import DesiredAllocation
from shared.messages.specs import PolicyMatch, Signal
from worker.core.gang.assignment import Formation, FormationStep, Gang, RankAssignment
from worker.core.run.records import Ending, Exits, Fault, LocalRun, Notice, Ranks, Request
from worker.core.run.states import LAUNCHED, RunState

DiskState = Literal["fetching", "starting", "running", "stopping", "exited"]

_DISK_STATES: dict[RunState, DiskState] = {
    RunState.PREPARING: "fetching",
    RunState.RENDEZVOUS: "starting",
    RunState.STARTING: "starting",
    RunState.RUNNING: "running",
    RunState.RESIZING: "running",
    RunState.TERMINATING: "running",
    RunState.KILLING: "stopping",
    RunState.EXITED: "exited",
    RunState.FORGOTTEN: "exited",
}


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run with what it needs after a restart. `environment`: its Python environment; empty: the worker's own."""

    run: LocalRun
    allocation: DesiredAllocation
    token: str
    environment: str = ""


class FormationRecord(BaseModel):
    generation: int
    seat: RankAssignment | None
    may_go: bool = False
    is_told: bool = False  # glossary: allowed


class RunRecord(BaseModel):
    allocation_id: AllocationId
    run_id: RunId
    token: int
    generation: int
    seat: RankAssignment
    preemption_timeout_s: float
    state: DiskState
    wanted: Signal = Signal.RUN
    verdict: Signal = Signal.RUN
    verdicts: int = 0
    decide_at: float | None = None
    told: Signal = Signal.RUN  # glossary: allowed
    asked_at: float | None = None
    rendezvous: str | None = None
    rendezvous_asked: bool = False
    ranks_asked: bool = False
    dropped: bool = False
    kill_sent: bool = False
    counted: int | None = None
    forced: bool = False
    doomed: bool = False  # glossary: allowed
    kill_at: float | None = None
    acknowledged: Signal | None = None
    exits: tuple[tuple[int, int], ...] = ()
    said: str = ""  # glossary: allowed
    starved: bool = False
    last_exit_at: float | None = None
    exit_code: int | None = None
    fault: Fault | None = None
    reason: str | None = None
    invalid: str | None = None
    policies: tuple[PolicyMatch, ...] = ()
    formation: FormationRecord | None = None
    stands_by: bool = False
    births: tuple[tuple[int, int], ...] = ()
    leaving: frozenset[str] = frozenset()
    seated: tuple[tuple[int, int], ...] = ()


class StoredRunRecord(BaseModel):
    """`forgotten`: only its journals and uploads are still needed."""

    run: RunRecord
    allocation: DesiredAllocation
    token: str
    forgotten: bool = False
    environment: str = ""


def write_record(stored: StoredRun) -> str:
    """Encode a run's record."""
    forgotten = stored.run.state is RunState.FORGOTTEN
    record = StoredRunRecord.model_construct(
        run=_to_record(stored.run),
        allocation=stored.allocation,
        token=stored.token,
        forgotten=forgotten,
        environment=stored.environment,
    )
    return record.model_dump_json()


def read_record(text: str) -> StoredRun:
    """Decode a run's record.

    Raises:
        ValidationError: The text is not a record.
    """
    record = StoredRunRecord.model_validate_json(text)
    run = _from_record(record.run, record.forgotten)
    return StoredRun(run, record.allocation, record.token, record.environment)


def _to_record(run: LocalRun) -> RunRecord:
    gang, request, ranks, exits, ending = run.gang, run.request, run.ranks, run.exits, run.ending
    return RunRecord.model_construct(
        allocation_id=run.allocation_id,
        run_id=run.run_id,
        token=run.token,
        generation=gang.generation,
        seat=gang.assignment,
        preemption_timeout_s=request.preemption_timeout_s,
        state=_DISK_STATES[run.state],
        wanted=request.wanted,
        verdict=request.verdict,
        verdicts=request.verdicts,
        decide_at=request.decide_at,
        told=run.notice.signal,
        asked_at=run.notice.at,
        rendezvous=gang.rendezvous,
        rendezvous_asked=gang.rendezvous_asked,
        ranks_asked=run.state in LAUNCHED,
        dropped=request.dropped,
        kill_sent=run.state is RunState.KILLING,
        counted=ending.counted,
        forced=ending.forced,
        doomed=run.has_fault,
        kill_at=ending.kill_at,
        acknowledged=run.notice.acknowledged,
        exits=exits.codes,
        said=exits.error,
        starved=exits.starved,
        last_exit_at=exits.last_at,
        exit_code=ending.exit_code,
        fault=ending.fault,
        reason=ending.reason,
        invalid=exits.invalid,
        policies=run.policies,
        formation=_to_formation_record(gang.formation),
        stands_by=gang.stands_by,
        births=ranks.births,
        leaving=ranks.leaving,
        seated=ranks.confirmed,
    )


def _from_record(record: RunRecord, forgotten: bool) -> LocalRun:
    return LocalRun(
        allocation_id=record.allocation_id,
        run_id=record.run_id,
        token=record.token,
        gang=Gang(
            record.generation,
            record.seat,
            record.rendezvous,
            record.rendezvous_asked,
            _from_formation_record(record.formation, record.stands_by),
        ),
        state=RunState.FORGOTTEN if forgotten else _state_of(record),
        request=Request(
            record.wanted,
            record.decide_at,
            record.preemption_timeout_s,
            record.verdict,
            record.verdicts,
            record.dropped,
        ),
        notice=Notice(record.told, record.asked_at, record.acknowledged),
        ranks=Ranks(record.births, record.seated, record.leaving),
        exits=Exits(record.exits, record.last_exit_at, record.said, record.starved, record.invalid),
        ending=Ending(
            record.fault,
            record.reason,
            record.kill_at,
            record.counted,
            record.forced,
            record.exit_code,
        ),
        policies=record.policies,
    )


def _state_of(record: RunRecord) -> RunState:
    match record.state:
        case "fetching":
            return RunState.PREPARING
        case "starting":
            return RunState.STARTING if record.ranks_asked else RunState.RENDEZVOUS
        case "running" if record.kill_at is not None:
            return RunState.TERMINATING
        case "running":
            return RunState.RUNNING if record.formation is None else RunState.RESIZING
        case "stopping":
            return RunState.KILLING
        case "exited":
            return RunState.EXITED


def _to_formation_record(formation: Formation | None) -> FormationRecord | None:
    if formation is None:
        return None
    return FormationRecord.model_construct(
        generation=formation.generation,
        seat=formation.assignment,
        may_go=formation.step is not FormationStep.PREPARING,
        is_told=formation.step is FormationStep.NOTIFIED,
    )


def _from_formation_record(record: FormationRecord | None, stands_by: bool) -> Formation | None:
    if record is None:
        return None
    step = FormationStep.PREPARED if record.may_go else FormationStep.PREPARING
    return Formation(
        record.generation, record.seat, FormationStep.NOTIFIED if record.is_told else step, stands_by
    )
