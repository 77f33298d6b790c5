"""Phases of runs: reported by workers, queried for timelines."""

from services.registry.runs import fences
from services.registry.runs.reporting_workers import Facts
from services.registry.runs.store import phases
from shared.bus import RequestContext, Units
from shared.bus.responder import Answer, Question
from shared.errors import Rejected
from shared.ids import TenantId
from shared.messages.phases import GetPhases, PhasesByTrials, PhasesStored, ReportPhases, TrialPhases

TRIALS_AT_ONCE = 200


class Phases:
    """Answers `rpt.v1.<worker>.phases` and `qry.v1.registry.phases`."""

    def __init__(self, units: Units, facts: Facts) -> None:
        self._units = units
        self._facts = facts

    def answers(self) -> dict[Question, Answer]:
        """Return the answers for the responder."""
        return {ReportPhases: self.on_report, GetPhases: self.on_phases}

    async def on_report(self, ask: RequestContext, report: ReportPhases) -> PhasesStored:
        """Store the phases from the worker of rank 0; those of other workers are ignored."""
        facts = await self._facts.of(report.run_id, ask.worker)
        if ask.worker == facts.chief:
            async with self._units.tenant(TenantId(facts.tenant)) as unit:
                await fences.locked_run(unit, facts)
                await phases.save_phases(unit.connection, report.run_id, report.phases)
        return PhasesStored()

    async def on_phases(self, ask: RequestContext, query: GetPhases) -> PhasesByTrials:
        """Return phases by trial, in the order requested."""
        if len(query.trials) > TRIALS_AT_ONCE:
            raise Rejected(
                "trials_too_many",
                f"{len(query.trials)} trials were requested; at most {TRIALS_AT_ONCE} are allowed per request",
            )
        async with self._units.tenant(ask.tenant) as unit:
            found = await phases.load_phases(unit.connection, query.trials)
        return PhasesByTrials(
            trials=tuple(
                TrialPhases(trial_id=trial, runs=tuple(found.get(trial, ()))) for trial in query.trials
            )
        )
