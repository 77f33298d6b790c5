"""Taking over what Determined's REST API tells: `read_dumps`, then `plan_import`, both without a platform; `carry_out` writes it."""

from muster.importing.carrying_out import Done, Outcome, carry_out
from muster.importing.dumps import Dump, read_dumps
from muster.importing.planning import ConfigFile, ImportPlan, ModelEntry, plan_import
from muster.importing.storage import ObjectStore

__all__ = [
    "ConfigFile",
    "Done",
    "Dump",
    "ImportPlan",
    "ModelEntry",
    "ObjectStore",
    "Outcome",
    "carry_out",
    "plan_import",
    "read_dumps",
]
