"""What the gateway asks the other services, by who answers."""

from shared.messages import experiments, search_journals
from shared.messages.budgets import GetBudgets, SetBudget
from shared.messages.checkpoints import (
    CollectCheckpoints,
    DeleteCheckpoint,
    EditCheckpoint,
    GetCheckpointFiles,
    GetStorage,
    ListCheckpoints,
    VerifyCheckpoints,
)
from shared.messages.custom_searches import GetDrivenSearch, GetSearchEvents, SubmitSearchOperations
from shared.messages.exports import ExportMetrics, ExportTable
from shared.messages.files import ConfirmUpload, GetCodeFiles, GetCodeText, GetUploadUrl
from shared.messages.health import ProvisionerHealth, RegistryHealth, SchedulerHealth, SearcherHealth
from shared.messages.lineage import GetLineageGraph
from shared.messages.logs import GetLogs, SearchLogs
from shared.messages.machine_pools import (
    CloseMachinePool,
    EndInstance,
    GetMachineKinds,
    GetMachinePools,
    GetSpending,
    IdentifyMachine,
    SetMachinePool,
)
from shared.messages.media import GetMedia, GetMediaNames, GetMediaPiece
from shared.messages.metrics import (
    CompareTrials,
    GetReported,
    GetReportedByTrials,
    GetSeries,
    GetSummaries,
)
from shared.messages.phases import GetPhases
from shared.messages.plans import PlanExperiment
from shared.messages.pools import GetCluster
from shared.messages.queue import Explain, GetQueue, ValidatePlacement
from shared.messages.reservations import GetReservations
from shared.messages.retention import GetRetention, SetRetention
from shared.messages.runs import GetAllocation
from shared.messages.trial_tables import GetColumns, GetTable
from shared.messages.usage import GetUsage
from shared.messages.workers import GetWorkerKey, IssueJoin, Join

QUESTIONS: dict[str, tuple[type, ...]] = {
    "searcher": (
        SearcherHealth,
        experiments.ValidateConfig,
        search_journals.GetJournal,
        experiments.GetParetoFront,
        search_journals.ReplayExperiment,
        GetDrivenSearch,
        GetSearchEvents,
        SubmitSearchOperations,
    ),
    "scheduler": (
        SchedulerHealth,
        ValidatePlacement,
        GetAllocation,
        GetWorkerKey,
        GetQueue,
        Explain,
        GetCluster,
        GetUsage,
        GetBudgets,
        SetBudget,
        GetReservations,
        IssueJoin,
        Join,
    ),
    "registry": (
        RegistryHealth,
        GetUploadUrl,
        ConfirmUpload,
        GetSeries,
        GetReported,
        GetReportedByTrials,
        CompareTrials,
        GetTable,
        GetColumns,
        ExportMetrics,
        ExportTable,
        GetLogs,
        SearchLogs,
        GetSummaries,
        GetMedia,
        GetMediaPiece,
        GetMediaNames,
        GetPhases,
        ListCheckpoints,
        GetCheckpointFiles,
        GetCodeFiles,
        GetCodeText,
        GetLineageGraph,
        EditCheckpoint,
        VerifyCheckpoints,
        DeleteCheckpoint,
        CollectCheckpoints,
        GetStorage,
        GetRetention,
        SetRetention,
    ),
    "simulator": (PlanExperiment,),
    "provisioner": (
        ProvisionerHealth,
        GetMachinePools,
        SetMachinePool,
        CloseMachinePool,
        GetMachineKinds,
        GetSpending,
        EndInstance,
        IdentifyMachine,
    ),
}
