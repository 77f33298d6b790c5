"""Delete the searcher's data: experiments, trials and journals. See also `shared.bus.data_deletion`."""

from collections.abc import Sequence

from sqlalchemy import Uuid, exists, literal, select

from services.searcher.core.experiment.states import EXPERIMENT
from services.searcher.store.tables import driver, experiment, journal, snapshot, trial
from shared.bus import Unit
from shared.bus.data_deletion import DeleteStatement, DeletionRequest, outbox_of, rows_of

_FINAL = [str(state) for state in EXPERIMENT.final]


class SearcherDeletionOwner:
    """The searcher's deletion owner."""

    async def begin(self, unit: Unit, deletion: DeletionRequest) -> bool:
        """Return whether every affected experiment has ended; running ones must end first."""
        if deletion.scope == "workspace":
            return True
        column = experiment.c.tenant if deletion.scope == "tenant" else experiment.c.id
        is_open = exists().where(column == deletion.target, experiment.c.state.not_in(_FINAL))
        return not await unit.connection.scalar(select(is_open))

    async def empty(self, deletion: DeletionRequest) -> None:
        """Do nothing: all data is in tables, and cached searches are never read again."""

    def rows(self, deletion: DeletionRequest) -> Sequence[DeleteStatement]:
        """Return the rows of an experiment.

        A workspace has none, because its experiments are deleted one by one. `shared.bus.data_deletion` deletes all rows
        of a tenant.
        """
        if deletion.scope != "experiment":
            return ()
        id_ = deletion.target
        trials = select(trial.c.id).where(trial.c.experiment == id_)
        return (
            *(rows_of(table, table.c.experiment == id_) for table in (journal, snapshot, driver)),
            *outbox_of("searcher", ["trial", "trial request"], trials),
            rows_of(trial, trial.c.experiment == id_),
            *outbox_of("searcher", ["experiment"], select(literal(id_, Uuid))),
            rows_of(experiment, experiment.c.id == id_),
        )
