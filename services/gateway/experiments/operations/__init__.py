"""Table of the experiment operations."""

from services.gateway.experiments.operations.create import create_experiment, fork_experiment
from services.gateway.experiments.operations.edit import edit_experiment
from services.gateway.experiments.operations.edit_search import edit_search
from services.gateway.experiments.operations.label import label_experiments
from services.gateway.experiments.operations.lifecycle import (
    archive_experiment,
    cancel_experiment,
    finish_experiment,
    kill_experiment,
    pause_experiment,
    resume_experiment,
    unarchive_experiment,
)
from services.gateway.experiments.operations.read import (
    get_experiment,
    list_experiments,
    list_journal,
    replay_experiment,
)
from services.gateway.experiments.outcomes import EDITED, REACHED, SEARCH_EDITED
from services.gateway.experiments.schema import (
    CreateExperimentRequest,
    EditExperimentRequest,
    EditSearchRequest,
    Experiment,
    ExperimentDetail,
    ExperimentPage,
    ExperimentRequest,
    ForkExperimentRequest,
    JournalPage,
    LabelExperimentsRequest,
    LabelledExperiments,
    ListExperimentsRequest,
    ListJournalRequest,
    Replay,
)
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import KEY, NATURAL, READ_EXPERIMENT, SAFE, WRITE_EXPERIMENT

# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("CreateExperiment", "POST", "/v1/experiments", CreateExperimentRequest, ExperimentDetail, WRITE_EXPERIMENT, KEY, create_experiment, status=201, waits=True),
    Operation("ForkExperiment", "POST", "/v1/experiments/{experiment}/fork", ForkExperimentRequest, ExperimentDetail, WRITE_EXPERIMENT, KEY, fork_experiment, status=201, waits=True),
    Operation("ListExperiments", "GET", "/v1/experiments", ListExperimentsRequest, ExperimentPage, READ_EXPERIMENT, SAFE, list_experiments),
    Operation("GetExperiment", "GET", "/v1/experiments/{experiment}", ExperimentRequest, ExperimentDetail, READ_EXPERIMENT, SAFE, get_experiment),
    Operation("ListExperimentJournal", "GET", "/v1/experiments/{experiment}/journal", ListJournalRequest, JournalPage, READ_EXPERIMENT, SAFE, list_journal, waits=True),
    Operation("ReplayExperiment", "GET", "/v1/experiments/{experiment}/replay", ExperimentRequest, Replay, READ_EXPERIMENT, SAFE, replay_experiment, waits=True),
    Operation("PauseExperiment", "POST", "/v1/experiments/{experiment}/pause", ExperimentRequest, Experiment, WRITE_EXPERIMENT, NATURAL, pause_experiment, outcome=REACHED),
    Operation("ResumeExperiment", "POST", "/v1/experiments/{experiment}/resume", ExperimentRequest, Experiment, WRITE_EXPERIMENT, NATURAL, resume_experiment, outcome=REACHED),
    Operation("CancelExperiment", "POST", "/v1/experiments/{experiment}/cancel", ExperimentRequest, Experiment, WRITE_EXPERIMENT, NATURAL, cancel_experiment, outcome=REACHED),
    Operation("KillExperiment", "POST", "/v1/experiments/{experiment}/kill", ExperimentRequest, Experiment, WRITE_EXPERIMENT, NATURAL, kill_experiment, outcome=REACHED),
    Operation("EditExperiment", "PATCH", "/v1/experiments/{experiment}", EditExperimentRequest, ExperimentDetail, WRITE_EXPERIMENT, NATURAL, edit_experiment, outcome=EDITED, conditional=True),
    Operation("EditSearch", "PATCH", "/v1/experiments/{experiment}/search", EditSearchRequest, ExperimentDetail, WRITE_EXPERIMENT, NATURAL, edit_search, outcome=SEARCH_EDITED, conditional=True),
    Operation("FinishExperiment", "POST", "/v1/experiments/{experiment}/finish", ExperimentRequest, Experiment, WRITE_EXPERIMENT, NATURAL, finish_experiment, outcome=REACHED),
    Operation("ArchiveExperiment", "POST", "/v1/experiments/{experiment}/archive", ExperimentRequest, Experiment, WRITE_EXPERIMENT, NATURAL, archive_experiment, outcome=REACHED),
    Operation("UnarchiveExperiment", "POST", "/v1/experiments/{experiment}/unarchive", ExperimentRequest, Experiment, WRITE_EXPERIMENT, NATURAL, unarchive_experiment, outcome=REACHED),
    Operation("LabelExperiments", "POST", "/v1/bulk/experiments/labels", LabelExperimentsRequest, LabelledExperiments, WRITE_EXPERIMENT, NATURAL, label_experiments, waits=True),
)
# fmt: on
