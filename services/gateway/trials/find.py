"""Resolves references in paths to trials of the caller's tenant."""

import re

from muster.errors import NotFound
from services.gateway.experiments.find import check_not_deleting
from services.gateway.platform.call_context import Call
from services.gateway.platform.references import Row, parse_uuid
from services.gateway.trials import store as trial_store

_TRIAL = re.compile(r"([1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})")


async def find_trial(call: Call, reference: str) -> Row:
    """Load a trial with its `experiment_number` and its experiment's `config`. Raises NotFound."""
    pair = _TRIAL.fullmatch(reference)
    key = (int(pair[1]), int(pair[2])) if pair else parse_uuid(reference)
    if key is not None:
        async with call.read() as connection:
            row = await trial_store.load_trial(connection, key)
        if row is not None:
            call.set_audit_fields(entity=f"trial/{row.experiment_number}.{row.number}")
            check_not_deleting(call, row.deleting, row.experiment_number)
            return row
    raise NotFound(
        f"trial {reference}", "use the trial's id or a number such as 31.4: trial 4 of experiment 31"
    )
