"""Table of the checkpoint operations."""

from services.gateway.checkpoints.operations.manage import (
    collect_checkpoints,
    delete_checkpoint,
    edit_checkpoint,
    get_storage,
    set_storage_limit,
    verify_checkpoint,
    verify_checkpoints,
)
from services.gateway.checkpoints.operations.read import (
    download_checkpoint,
    get_checkpoint,
    list_experiment_checkpoints,
    list_trial_checkpoints,
)
from services.gateway.checkpoints.schema import (
    Checkpoint,
    CheckpointPage,
    CheckpointRequest,
    CollectCheckpointsRequest,
    Collected,
    Download,
    EditCheckpointRequest,
    ListExperimentCheckpointsRequest,
    ListTrialCheckpointsRequest,
    SetStorageLimitRequest,
    Storage,
    StorageLimit,
    VerificationAsked,
    VerifyCheckpointsRequest,
)
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import (
    AUDITED_READ,
    DOWNLOAD,
    MANAGE,
    NATURAL,
    READ_EXPERIMENT,
    SAFE,
    WRITE_EXPERIMENT,
)
from services.gateway.platform.schema import Empty

# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("ListTrialCheckpoints", "GET", "/v1/trials/{trial}/checkpoints", ListTrialCheckpointsRequest, CheckpointPage, READ_EXPERIMENT, SAFE, list_trial_checkpoints, waits=True),
    Operation("ListExperimentCheckpoints", "GET", "/v1/experiments/{experiment}/checkpoints", ListExperimentCheckpointsRequest, CheckpointPage, READ_EXPERIMENT, SAFE, list_experiment_checkpoints, waits=True),
    Operation("GetCheckpoint", "GET", "/v1/checkpoints/{checkpoint}", CheckpointRequest, Checkpoint, READ_EXPERIMENT, SAFE, get_checkpoint, waits=True),
    Operation("DownloadCheckpoint", "GET", "/v1/checkpoints/{checkpoint}/files", CheckpointRequest, Download, DOWNLOAD, SAFE, download_checkpoint, audited=AUDITED_READ, waits=True),
    Operation("EditCheckpoint", "PATCH", "/v1/checkpoints/{checkpoint}", EditCheckpointRequest, Checkpoint, WRITE_EXPERIMENT, NATURAL, edit_checkpoint, conditional=True, waits=True),
    Operation("DeleteCheckpoint", "DELETE", "/v1/checkpoints/{checkpoint}", CheckpointRequest, Checkpoint, WRITE_EXPERIMENT, NATURAL, delete_checkpoint, conditional=True, waits=True),
    Operation("VerifyCheckpoint", "POST", "/v1/checkpoints/{checkpoint}/verify", CheckpointRequest, VerificationAsked, WRITE_EXPERIMENT, NATURAL, verify_checkpoint, waits=True),
    Operation("VerifyCheckpoints", "POST", "/v1/experiments/{experiment}/checkpoints/verify", VerifyCheckpointsRequest, VerificationAsked, WRITE_EXPERIMENT, NATURAL, verify_checkpoints, waits=True),
    Operation("CollectCheckpoints", "POST", "/v1/experiments/{experiment}/checkpoints/collect", CollectCheckpointsRequest, Collected, WRITE_EXPERIMENT, NATURAL, collect_checkpoints, waits=True),
    Operation("GetStorage", "GET", "/v1/storage", Empty, Storage, READ_EXPERIMENT, SAFE, get_storage, waits=True),
    Operation("SetStorageLimit", "PUT", "/v1/storage/limit", SetStorageLimitRequest, StorageLimit, MANAGE, NATURAL, set_storage_limit),
)
# fmt: on
