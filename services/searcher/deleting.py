"""The searcher's part in deletions: its experiments, their trials and journals. Neighbour: `shared.deleting`."""

from collections.abc import Sequence

from sqlalchemy import text

from services.searcher.core.machines import EXPERIMENT
from shared.bus import Unit
from shared.deleting import Doomed, Rows, outbox_of, rows_of

_OPEN = {
    "experiment": text(
        "SELECT EXISTS (SELECT FROM searcher.experiment WHERE id = :target AND state <> ALL(CAST(:final AS text[])))"
    ),
    "tenant": text(
        "SELECT EXISTS (SELECT FROM searcher.experiment WHERE tenant = :target AND state <> ALL(CAST(:final AS text[])))"
    ),
}
_TRIALS = "SELECT id FROM searcher.trial WHERE experiment = $1"


class Estate:
    """What the searcher has of what is to go."""

    async def begin(self, unit: Unit, doomed: Doomed) -> bool:
        """What still trains is ended first."""
        if doomed.scope == "workspace":
            return True
        given = {"target": doomed.target, "final": [str(state) for state in EXPERIMENT.final]}
        return not await unit.connection.scalar(_OPEN[doomed.scope], given)

    async def empty(self, doomed: Doomed) -> None:
        """Everything is in the tables: what a process remembers of a search is asked for by nobody."""

    def rows(self, doomed: Doomed) -> Sequence[Rows]:
        """Of a workspace nothing: its experiments went one by one. Of a tenant all, which `shared.deleting` knows."""
        if doomed.scope != "experiment":
            return ()
        experiment = doomed.target
        return (
            rows_of("searcher.journal", "experiment = $1", experiment),
            rows_of("searcher.snapshot", "experiment = $1", experiment),
            rows_of("searcher.driver", "experiment = $1", experiment),
            *outbox_of("searcher", ["trial", "trial wish"], _TRIALS, experiment),
            rows_of("searcher.trial", "experiment = $1", experiment),
            *outbox_of("searcher", ["experiment"], "SELECT $1::uuid", experiment),
            rows_of("searcher.experiment", "id = $1", experiment),
        )
