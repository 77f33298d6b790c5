"""The searcher's part in deletions: its experiments, their trials and journals. Neighbour: `shared.bus.deletion`."""

from collections.abc import Sequence

from sqlalchemy import Uuid, exists, literal, select

from services.searcher.core.experiment.states import EXPERIMENT
from services.searcher.store.tables import driver, experiment, journal, snapshot, trial
from shared.bus import Unit
from shared.bus.deletion import DeleteStatement, DeletionRequest, outbox_of, rows_of

_FINAL = [str(state) for state in EXPERIMENT.final]


class SearcherDeletionOwner:
    """What the searcher has of what is to go."""

    async def begin(self, unit: Unit, doomed: DeletionRequest) -> bool:
        """What still trains is ended first."""
        if doomed.scope == "workspace":
            return True
        column = experiment.c.tenant if doomed.scope == "tenant" else experiment.c.id
        is_open = exists().where(column == doomed.target, experiment.c.state.not_in(_FINAL))
        return not await unit.connection.scalar(select(is_open))

    async def empty(self, doomed: DeletionRequest) -> None:
        """Everything is in the tables: what a process remembers of a search is asked for by nobody."""

    def rows(self, doomed: DeletionRequest) -> Sequence[DeleteStatement]:
        """Of a workspace nothing: its experiments went one by one. Of a tenant all, which `shared.bus.deletion` knows."""
        if doomed.scope != "experiment":
            return ()
        id_ = doomed.target
        trials = select(trial.c.id).where(trial.c.experiment == id_)
        return (
            *(rows_of(table, table.c.experiment == id_) for table in (journal, snapshot, driver)),
            *outbox_of("searcher", ["trial", "trial wish"], trials),
            rows_of(trial, trial.c.experiment == id_),
            *outbox_of("searcher", ["experiment"], select(literal(id_, Uuid))),
            rows_of(experiment, experiment.c.id == id_),
        )
