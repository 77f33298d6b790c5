"""The searcher: submissions become experiments, events about trials are applied by the searcher's own reducers,
and decisions become requests and verdicts. The rest mirrors `services/searcher` (handlers, dispatcher,
reconcile) on virtual time.

The scheduler's facts and the registry's reports arrive by streams. `owner` requests trials without a search.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from services.scheduler.core.state.indexes.queue import ExperimentPolicy
from services.scheduler.core.state.published_events import Closed, Fact
from services.scheduler.core.state.records.pool import DEFAULT_PRIORITY
from services.scheduler.core.state.records.trial import TrialRequest
from services.searcher.core.experiment.entities import ExperimentRecord, TrialRecord
from services.searcher.core.reducers.changes import Changes, Decision
from services.searcher.core.reducers.ending import end_rest
from services.searcher.core.reducers.limits import keep_budget
from services.searcher.core.reducers.runs import on_overdue
from services.searcher.core.reducers.starting import resume_loaded
from services.searcher.core.reducers.submissions import Submitted, on_submission
from shared.errors import Conflict, Rejected
from shared.ids import ExperimentId, PoolName, TrialId, WorkerId, derived_id
from simulator.bus import SimulatedBus, SimulatedStream
from simulator.control.scheduler_process import SchedulerMessage, TrialRequested
from simulator.demand.trial_requester import tenant_id
from simulator.event_queue import Act
from simulator.experiments.submission import Submission
from simulator.observers.observer import Observer
from simulator.searching.database import Row, SearcherTables
from simulator.searching.messages import Saved, Stored, Verdict
from simulator.searching.searcher_events import SearcherEvent, news_of_fact, news_of_report
from simulator.trials import WorkloadTrial

PLACE = "searcher"
RETRY_MS = 1000
LOOK_EVERY_MS = 1000
SETTLE_AFTER_MS, SETTLE_EVERY_MS = 900_000, 60_000
POINTS = ("searcher_before_commit", "searcher_after_commit")
Apply = Callable[[Changes], None]


@dataclass(slots=True)
class SearcherLinks:
    """Connections of the searcher.

    Attributes:
        is_up: Whether the database answers.
        send_verdict: Sends a verdict to a worker; it may be lost.
    """

    wire: SimulatedBus
    requests: SimulatedStream[SchedulerMessage]
    watch: Observer
    is_up: Callable[[], bool]
    send_verdict: Callable[[WorkerId, Verdict], None]


@dataclass(frozen=True, slots=True)
class _Task:
    """A pending message. `name`: for the inbox. `trial` None: it concerns all open trials. `cause`: the event,
    if it needs an answer or concerns the observers."""

    name: str
    experiment: ExperimentId
    act: Apply
    acknowledge: Act = lambda: None
    trial: int | None = None
    cause: Fact | Stored | Saved | None = None


class Searcher:
    """One process. It handles all pending messages in one transaction, dies between any two steps, and restarts."""

    def __init__(
        self,
        ties: SearcherLinks,
        submissions: Sequence[Submission],
        pool: PoolName,
        commit_ms: int,
        price_per_slot_hour: float = 0.0,
    ) -> None:
        self.ties = ties
        self._price = price_per_slot_hour
        self.rows = SearcherTables()
        self.items: dict[TrialId, WorkloadTrial] = {}
        self.left = len(submissions)
        """Number of experiments that have not ended."""
        self.is_up = True
        self.dies_at: tuple[str, int] | None = None
        """The next fault point at which it dies, and for how many milliseconds."""
        self._agenda = ties.wire.agenda
        self._gateway: SimulatedStream[_Task] = SimulatedStream(ties.wire, "gateway")
        self._pool = pool
        self._commit_ms = commit_ms
        self._commands = 0
        self._submissions = submissions
        self._tasks: list[_Task] = []
        self._is_busy = False
        self._life = 0

    def begin(self) -> None:
        """Schedule the submissions."""
        self._gateway.consume(
            PLACE, lambda task, acknowledge: self._take(replace(task, acknowledge=acknowledge))
        )
        for number, submission in enumerate(self._submissions, 1):
            self._agenda.at(submission.arrives_ms, lambda n=number, s=submission: self._submit(n, s))  # type: ignore[misc]

    def command(self, experiment: ExperimentId, act: Apply) -> None:
        """Pause, resume, edit or end an experiment. An experiment that is unknown or over refuses."""

        def refusing(changes: Changes) -> None:
            if changes.experiment.position:
                with suppress(Conflict, Rejected):
                    act(changes)

        self._commands += 1
        self._gateway.publish(_Task(f"command {self._commands}", experiment, refusing))

    def take_fact(self, row: tuple[int, Fact], acknowledge: Act) -> None:
        """Receive a fact of the scheduler's stream."""
        number, fact = row
        news = news_of_fact(number, fact, self._agenda.now, self._price)
        if news is None:
            acknowledge()
            return
        self._receive(news, acknowledge, fact)
        if isinstance(fact, Closed):
            self._agenda.after(SETTLE_AFTER_MS, lambda: self._settle(fact.trial.id))

    def take_report(self, report: Stored | Saved, acknowledge: Act) -> None:
        """Receive a report of the registry's stream."""
        self._receive(news_of_report(report), acknowledge, report)

    def die(self, down_ms: int) -> None:
        """kill -9; restart after `down_ms`. Pending messages are delivered again."""
        self.dies_at = None
        self._life += 1
        self.is_up, self._is_busy = False, False
        self._tasks.clear()
        self.rows.forget_memory()
        self._agenda.after(down_ms, self._start)

    def _start(self) -> None:
        self.is_up = True
        self._publish()

    def _submit(self, number: int, submission: Submission) -> None:
        tenant = tenant_id(submission.tenant)
        name = ExperimentId(derived_id(tenant, "experiment", f"{submission.name} {number}"))
        self.rows.experiments[name] = Row(
            tenant, submission, ExperimentRecord(name, number, self._agenda.now)
        )
        submitted = self._agenda.now
        submission_event = Submitted(submission.prior_observations, submitted, self._price)
        self._gateway.publish(
            _Task(f"submission {number}", name, lambda changes: on_submission(changes, submission_event))
        )

    def _receive(
        self, news: SearcherEvent, acknowledge: Act, cause: Fact | Stored | Saved | None = None
    ) -> None:
        whose = self.rows.whose.get(news.trial)
        if whose is None:
            acknowledge()
            return
        experiment, number = whose
        act = lambda changes: news.act(changes, number)  # noqa: E731
        self._take(_Task(news.name, experiment, act, acknowledge, number, cause))

    def _settle(self, trial: TrialId) -> None:
        """Give up announced reports that have not arrived by now."""
        whose = self.rows.whose.get(trial)
        if whose is not None and not self.rows.experiments[whose[0]].trials[whose[1]].is_final:
            overdue = SearcherEvent(f"overdue {trial} {self._agenda.now_ms}", trial, on_overdue)
            self._receive(overdue, lambda: None)
            self._agenda.after(SETTLE_EVERY_MS, lambda: self._settle(trial))

    def _look(self, row: Row) -> None:
        """Check the experiment's budget, at most once per second."""
        row.looked_at_ms = None
        due_at, now = row.experiment.due_at, self._agenda.now
        if self.is_up and due_at is not None and due_at <= now:
            name = f"budget {row.experiment.id} {self._agenda.now_ms}"
            self._take(_Task(name, row.experiment.id, lambda changes: keep_budget(changes, {})))
        self._watch(row)

    def _watch(self, row: Row) -> None:
        if row.experiment.due_at is None:
            return
        left_ms = round((row.experiment.due_at - self._agenda.now).total_seconds() * 1000)
        at_ms = self._agenda.now_ms + max(0, left_ms) + LOOK_EVERY_MS
        if row.looked_at_ms is None or at_ms < row.looked_at_ms:
            row.looked_at_ms = at_ms
            self._agenda.at(at_ms, lambda: self._look(row))

    # --- the transaction

    def _take(self, task: _Task) -> None:
        if not self.is_up:
            return
        self._tasks.append(task)
        if not self._is_busy:
            self._is_busy = True
            self._later(self._commit_ms, self._commit)

    def _commit(self) -> None:
        """Load, decide, save and emit all pending messages; then acknowledge them and send verdicts."""
        if not self.ties.is_up():
            self._later(RETRY_MS, self._commit)
            return
        if not self._reaches("searcher_before_commit"):
            return
        tasks, self._tasks = self._tasks, []
        verdicts = [
            verdict for task in tasks if self.rows.is_first(task.name) for verdict in self._carry_out(task)
        ]
        if not self._reaches("searcher_after_commit"):
            return
        for task in tasks:
            task.acknowledge()
        for worker, verdict in verdicts:
            self.ties.send_verdict(worker, verdict)
        self._publish()
        self._is_busy = bool(self._tasks)
        if self._tasks:
            self._later(self._commit_ms, self._commit)

    def _carry_out(self, task: _Task) -> list[tuple[WorkerId, Verdict]]:
        row = self.rows.experiments[task.experiment]
        known = row.live() if task.trial is None else [row.trials[task.trial]]
        changes = Changes(row.submission.config, row.experiment, known, row.loaded(), self._agenda.now)
        task.act(changes)
        if changes.missing:
            resume_loaded(changes, [row.trials[number] for number in changes.missing])
        if changes.needs_rest:
            end_rest(changes, row.live())
        decision = changes.decide()
        self.left -= decision.experiment.is_final and not row.experiment.is_final
        row.save(decision)
        self._watch(row)
        self._follow(row, decision)
        self.ties.watch.on_decided(row.submission, decision)
        match task.cause:
            case Closed():
                self.ties.watch.on_closed(task.cause)
            case Stored(run, number):
                return [
                    (run.chief, Verdict(run, number, judged.verdict, judged.decide_at))
                    for judged in decision.judged
                ]
        return []

    def _follow(self, row: Row, decision: Decision) -> None:
        """Register new trials, and publish changed requests after the commit."""
        for number in decision.requested:
            trial = decision.trials[number]
            if trial.id not in self.items:
                source = None if trial.source is None else row.trials[trial.source]
                item = self.items[trial.id] = row.submission.item(trial, self._agenda.now_ms, source)
                self.rows.whose[trial.id] = row.experiment.id, number
                self.ties.watch.on_arrived(trial.id, row.tenant, item)
            self.ties.watch.on_request_changed(trial.id, trial.desired_state)
            self.rows.outbox.append((self._request(row, trial), _policy(row.submission)))

    def _request(self, row: Row, trial: TrialRecord) -> TrialRequest:
        config = row.submission.config
        return TrialRequest(
            trial=trial.id,
            tenant=row.tenant,
            experiment=row.experiment.id,
            version=trial.request_version,
            request=trial.request,
            desired_state=trial.desired_state,
            decide_at=trial.decide_at,
            needs=row.submission.needs,
            pool=self._pool,
            max_restarts=config.max_restarts,
            number=trial.number,
            experiment_number=row.experiment.number,
            workspace=row.submission.workspace,
            owner=row.submission.user,
        )

    def _publish(self) -> None:
        for request, policy in self.rows.take_outbox():
            self.ties.requests.publish(TrialRequested(request, policy))

    def _reaches(self, point: str) -> bool:
        if self.dies_at is None or self.dies_at[0] != point:
            return True
        self.die(self.dies_at[1])
        return False

    def _later(self, delay_ms: int, act: Act) -> None:
        """Run a callback after a delay, unless the process dies before; immediately without a delay."""
        life = self._life
        if delay_ms:
            self._agenda.after(delay_ms, lambda: act() if life == self._life else None)
        else:
            act()


def _policy(submission: Submission) -> ExperimentPolicy:
    resources = submission.config.resources
    return ExperimentPolicy(resources.priority or DEFAULT_PRIORITY, resources.weight, resources.max_slots)
