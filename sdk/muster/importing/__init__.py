"""Import from dumps of Determined's REST API: `read_dumps`, then `plan_import`, both without a platform; `execute_import` executes the plan."""

from muster.importing.dumps import Dump, read_dumps
from muster.importing.execution import ImportOutcome, ImportResult, execute_import
from muster.importing.planning import ConfigFile, ImportPlan, ModelEntry, plan_import
from muster.importing.s3_file_check import ObjectStore

__all__ = [
    "ConfigFile",
    "ImportResult",
    "Dump",
    "ImportPlan",
    "ModelEntry",
    "ObjectStore",
    "ImportOutcome",
    "execute_import",
    "plan_import",
    "read_dumps",
]
