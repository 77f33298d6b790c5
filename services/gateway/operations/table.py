"""Every operation of the public API, one row each: REST, gRPC, OpenAPI and the proto file come from here."""

from services.gateway.api import (
    access,
    base,
    checkpoints,
    cluster,
    experiments,
    logs,
    models,
    plans,
    pools,
    reservations,
    searches,
    trials,
    usage,
)
from services.gateway.core.permissions import Access, Permission
from services.gateway.operations import (
    access as access_handlers,
    checkpoints as checkpoint_handlers,
    cluster as cluster_handlers,
    code as code_handlers,
    draining as draining_handlers,
    editing as editing_handlers,
    events as event_handlers,
    experiments as experiment_handlers,
    lifecycle as lifecycle_handlers,
    limits as limit_handlers,
    logs as log_handlers,
    metrics as metric_handlers,
    models as model_handlers,
    plans as plan_handlers,
    pools as pool_handlers,
    reservations as reservation_handlers,
    searches as search_handlers,
    searching as searching_handlers,
    submit as submit_handlers,
    trials as trial_handlers,
    usage as usage_handlers,
)
from services.gateway.operations.operation import Idempotency, Operation, RateClass

READ_EXPERIMENT, WRITE_EXPERIMENT = Permission.EXPERIMENT_READ, Permission.EXPERIMENT_WRITE
READ_MODEL, WRITE_MODEL = Permission.MODEL_READ, Permission.MODEL_WRITE
DOWNLOAD = Permission.CHECKPOINT_DOWNLOAD
CLUSTER, MANAGE = Permission.CLUSTER_READ, Permission.CLUSTER_MANAGE
SAFE, NATURAL, KEY = Idempotency.SAFE, Idempotency.NATURAL, Idempotency.KEY
# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    # experiments
    Operation("CreateExperiment", "POST", "/v1/experiments", experiments.CreateExperimentRequest, experiments.ExperimentDetail, WRITE_EXPERIMENT, KEY, submit_handlers.create_experiment, status=201),
    Operation("ForkExperiment", "POST", "/v1/experiments/{experiment}/fork", experiments.ForkExperimentRequest, experiments.ExperimentDetail, WRITE_EXPERIMENT, KEY, submit_handlers.fork_experiment, status=201),
    Operation("ListExperiments", "GET", "/v1/experiments", experiments.ListExperimentsRequest, experiments.ExperimentPage, READ_EXPERIMENT, SAFE, experiment_handlers.list_experiments),
    Operation("GetExperiment", "GET", "/v1/experiments/{experiment}", experiments.ExperimentRequest, experiments.ExperimentDetail, READ_EXPERIMENT, SAFE, experiment_handlers.get_experiment),
    Operation("ListExperimentJournal", "GET", "/v1/experiments/{experiment}/journal", experiments.ListJournalRequest, experiments.JournalPage, READ_EXPERIMENT, SAFE, experiment_handlers.list_journal),
    Operation("ReplayExperiment", "GET", "/v1/experiments/{experiment}/replay", experiments.ExperimentRequest, experiments.Replay, READ_EXPERIMENT, SAFE, experiment_handlers.replay_experiment),
    Operation("PauseExperiment", "POST", "/v1/experiments/{experiment}/pause", experiments.ExperimentRequest, experiments.Experiment, WRITE_EXPERIMENT, NATURAL, lifecycle_handlers.pause_experiment),
    Operation("ResumeExperiment", "POST", "/v1/experiments/{experiment}/resume", experiments.ExperimentRequest, experiments.Experiment, WRITE_EXPERIMENT, NATURAL, lifecycle_handlers.resume_experiment),
    Operation("CancelExperiment", "POST", "/v1/experiments/{experiment}/cancel", experiments.ExperimentRequest, experiments.Experiment, WRITE_EXPERIMENT, NATURAL, lifecycle_handlers.cancel_experiment),
    Operation("KillExperiment", "POST", "/v1/experiments/{experiment}/kill", experiments.ExperimentRequest, experiments.Experiment, WRITE_EXPERIMENT, NATURAL, lifecycle_handlers.kill_experiment),
    Operation("EditExperiment", "PATCH", "/v1/experiments/{experiment}", experiments.EditExperimentRequest, experiments.ExperimentDetail, WRITE_EXPERIMENT, NATURAL, editing_handlers.edit_experiment),
    Operation("EditSearch", "PATCH", "/v1/experiments/{experiment}/search", experiments.EditSearchRequest, experiments.ExperimentDetail, WRITE_EXPERIMENT, NATURAL, searching_handlers.edit_search),
    Operation("FinishExperiment", "POST", "/v1/experiments/{experiment}/finish", experiments.ExperimentRequest, experiments.Experiment, WRITE_EXPERIMENT, NATURAL, lifecycle_handlers.finish_experiment),
    Operation("ArchiveExperiment", "POST", "/v1/experiments/{experiment}/archive", experiments.ExperimentRequest, experiments.Experiment, WRITE_EXPERIMENT, NATURAL, lifecycle_handlers.archive_experiment),
    Operation("UnarchiveExperiment", "POST", "/v1/experiments/{experiment}/unarchive", experiments.ExperimentRequest, experiments.Experiment, WRITE_EXPERIMENT, NATURAL, lifecycle_handlers.unarchive_experiment),
    Operation("PlanExperiment", "POST", "/v1/plans", plans.PlanExperimentRequest, plans.Plan, READ_EXPERIMENT, NATURAL, plan_handlers.plan_experiment),
    # searches that a program drives
    Operation("GetSearch", "GET", "/v1/experiments/{experiment}/search", searches.SearchRequest, searches.DrivenSearch, READ_EXPERIMENT, SAFE, search_handlers.get_search),
    Operation("ListSearchEvents", "GET", "/v1/experiments/{experiment}/search/events", searches.ListSearchEventsRequest, searches.SearchEventPage, READ_EXPERIMENT, SAFE, search_handlers.list_search_events),
    Operation("TellSearch", "POST", "/v1/experiments/{experiment}/search/tell", searches.TellSearchRequest, searches.DrivenSearch, WRITE_EXPERIMENT, NATURAL, search_handlers.tell_search),
    # trials
    Operation("ListTrials", "GET", "/v1/experiments/{experiment}/trials", trials.ListTrialsRequest, trials.TrialPage, READ_EXPERIMENT, SAFE, trial_handlers.list_trials),
    Operation("ListExperimentFront", "GET", "/v1/experiments/{experiment}/front", trials.ListFrontRequest, trials.FrontPage, READ_EXPERIMENT, SAFE, trial_handlers.list_front),
    Operation("GetTrial", "GET", "/v1/trials/{trial}", trials.TrialRequest, trials.Trial, READ_EXPERIMENT, SAFE, trial_handlers.get_trial),
    Operation("ListRuns", "GET", "/v1/trials/{trial}/runs", trials.ListRunsRequest, trials.RunPage, READ_EXPERIMENT, SAFE, trial_handlers.list_runs),
    Operation("ExplainTrial", "GET", "/v1/trials/{trial}/explanation", trials.TrialRequest, cluster.Explanation, READ_EXPERIMENT, SAFE, trial_handlers.explain_trial),
    # metrics and logs
    Operation("GetTrialMetrics", "GET", "/v1/trials/{trial}/metrics", trials.TrialMetricsRequest, trials.TrialMetrics, READ_EXPERIMENT, SAFE, metric_handlers.get_trial_metrics),
    Operation("GetTrialSummaries", "GET", "/v1/trials/{trial}/summaries", trials.TrialRequest, trials.MetricSummaries, READ_EXPERIMENT, SAFE, metric_handlers.get_trial_summaries),
    Operation("GetExperimentMetrics", "GET", "/v1/experiments/{experiment}/metrics", trials.ExperimentMetricsRequest, trials.ExperimentMetrics, READ_EXPERIMENT, SAFE, metric_handlers.get_experiment_metrics),
    Operation("ListTrialLogs", "GET", "/v1/trials/{trial}/logs", logs.ListTrialLogsRequest, logs.LogPage, READ_EXPERIMENT, SAFE, log_handlers.list_trial_logs),
    Operation("ListExperimentLogs", "GET", "/v1/experiments/{experiment}/logs", logs.ListExperimentLogsRequest, logs.LogPage, READ_EXPERIMENT, SAFE, log_handlers.list_experiment_logs),
    Operation("FollowTrialLogs", "GET", "/v1/trials/{trial}/logs/follow", logs.FollowTrialLogsRequest, logs.LogLine, READ_EXPERIMENT, SAFE, log_handlers.follow_trial_logs, stream="server"),
    Operation("FollowExperimentLogs", "GET", "/v1/experiments/{experiment}/logs/follow", logs.FollowExperimentLogsRequest, logs.LogLine, READ_EXPERIMENT, SAFE, log_handlers.follow_experiment_logs, stream="server"),
    # checkpoints and code
    Operation("ListTrialCheckpoints", "GET", "/v1/trials/{trial}/checkpoints", checkpoints.ListTrialCheckpointsRequest, checkpoints.CheckpointPage, READ_EXPERIMENT, SAFE, checkpoint_handlers.list_trial_checkpoints),
    Operation("ListExperimentCheckpoints", "GET", "/v1/experiments/{experiment}/checkpoints", checkpoints.ListExperimentCheckpointsRequest, checkpoints.CheckpointPage, READ_EXPERIMENT, SAFE, checkpoint_handlers.list_experiment_checkpoints),
    Operation("GetCheckpoint", "GET", "/v1/checkpoints/{checkpoint}", checkpoints.CheckpointRequest, checkpoints.Checkpoint, READ_EXPERIMENT, SAFE, checkpoint_handlers.get_checkpoint),
    Operation("DownloadCheckpoint", "GET", "/v1/checkpoints/{checkpoint}/files", checkpoints.CheckpointRequest, checkpoints.Download, DOWNLOAD, SAFE, checkpoint_handlers.download_checkpoint),
    Operation("PutCode", "PUT", "/v1/code/{sha256}", checkpoints.PutCodeRequest, checkpoints.Code, Permission.CODE_WRITE, NATURAL, code_handlers.put_code, stream="upload"),
    Operation("GetCode", "GET", "/v1/code/{sha256}", checkpoints.CodeRequest, checkpoints.Code, Permission.CODE_WRITE, SAFE, code_handlers.get_code),
    # models
    Operation("CreateModel", "POST", "/v1/models", models.CreateModelRequest, models.Model, WRITE_MODEL, KEY, model_handlers.create_model, status=201),
    Operation("ListModels", "GET", "/v1/models", models.ListModelsRequest, models.ModelPage, READ_MODEL, SAFE, model_handlers.list_models),
    Operation("GetModel", "GET", "/v1/models/{model}", models.ModelRequest, models.Model, READ_MODEL, SAFE, model_handlers.get_model),
    Operation("CreateModelVersion", "POST", "/v1/models/{model}/versions", models.CreateModelVersionRequest, models.ModelVersion, WRITE_MODEL, KEY, model_handlers.create_version, status=201),
    Operation("ListModelVersions", "GET", "/v1/models/{model}/versions", models.ListModelVersionsRequest, models.ModelVersionPage, READ_MODEL, SAFE, model_handlers.list_versions),
    Operation("GetModelVersion", "GET", "/v1/models/{model}/versions/{version}", models.ModelVersionRequest, models.ModelVersion, READ_MODEL, SAFE, model_handlers.get_version),
    Operation("DownloadModelVersion", "GET", "/v1/models/{model}/versions/{version}/files", models.ModelVersionRequest, checkpoints.Download, READ_MODEL, SAFE, model_handlers.download_version),
    # machines and the queue
    Operation("ListWorkers", "GET", "/v1/workers", cluster.ListWorkersRequest, cluster.WorkerPage, CLUSTER, SAFE, cluster_handlers.list_workers),
    Operation("GetWorker", "GET", "/v1/workers/{worker}", cluster.WorkerRequest, cluster.Worker, CLUSTER, SAFE, cluster_handlers.get_worker),
    Operation("DrainWorker", "POST", "/v1/workers/{worker}/drain", cluster.DrainWorkerRequest, cluster.Worker, MANAGE, NATURAL, draining_handlers.drain_worker),
    Operation("UndrainWorker", "POST", "/v1/workers/{worker}/undrain", cluster.WorkerRequest, cluster.Worker, MANAGE, NATURAL, draining_handlers.undrain_worker),
    Operation("DrainWorkers", "POST", "/v1/workers/drain", cluster.DrainWorkersRequest, cluster.WorkerPage, MANAGE, NATURAL, draining_handlers.drain_workers),
    Operation("UndrainWorkers", "POST", "/v1/workers/undrain", cluster.WorkersRequest, cluster.WorkerPage, MANAGE, NATURAL, draining_handlers.undrain_workers),
    Operation("DisableSlot", "POST", "/v1/workers/{worker}/slots/disable", cluster.SlotRequest, cluster.Worker, MANAGE, NATURAL, draining_handlers.disable_slot),
    Operation("EnableSlot", "POST", "/v1/workers/{worker}/slots/enable", cluster.SlotRequest, cluster.Worker, MANAGE, NATURAL, draining_handlers.enable_slot),
    Operation("ListPools", "GET", "/v1/pools", base.PageRequest, pools.PoolPage, CLUSTER, SAFE, pool_handlers.list_pools),
    Operation("GetPool", "GET", "/v1/pools/{pool}", pools.PoolRequest, pools.Pool, CLUSTER, SAFE, pool_handlers.get_pool),
    Operation("EditPool", "PATCH", "/v1/pools/{pool}", pools.EditPoolRequest, pools.Pool, MANAGE, NATURAL, pool_handlers.edit_pool),
    Operation("ListLimits", "GET", "/v1/limits", pools.ListLimitsRequest, pools.LimitPage, CLUSTER, SAFE, limit_handlers.list_limits),
    Operation("SetLimit", "PUT", "/v1/limits", pools.SetLimitRequest, pools.Limit, MANAGE, NATURAL, limit_handlers.set_limit),
    Operation("CreateReservation", "POST", "/v1/reservations", reservations.CreateReservationRequest, reservations.Reservation, MANAGE, NATURAL, reservation_handlers.create_reservation, status=201),
    Operation("ListReservations", "GET", "/v1/reservations", base.PageRequest, reservations.ReservationPage, CLUSTER, SAFE, reservation_handlers.list_reservations),
    Operation("DeleteReservation", "DELETE", "/v1/reservations/{reservation}", reservations.ReservationRequest, reservations.Reservation, MANAGE, NATURAL, reservation_handlers.delete_reservation),
    Operation("ListInstances", "GET", "/v1/instances", base.PageRequest, cluster.InstancePage, CLUSTER, SAFE, cluster_handlers.list_instances),
    Operation("ListQueue", "GET", "/v1/queue", cluster.ListQueueRequest, cluster.QueuePage, READ_EXPERIMENT, SAFE, cluster_handlers.list_queue),
    Operation("GetUsage", "GET", "/v1/usage", usage.UsageRequest, usage.Usage, CLUSTER, SAFE, usage_handlers.get_usage, csv=usage_handlers.usage_csv),
    Operation("WatchEvents", "GET", "/v1/events", cluster.WatchEventsRequest, cluster.Event, READ_EXPERIMENT, SAFE, event_handlers.watch_events, stream="server"),
    # access
    Operation("GetMe", "GET", "/v1/me", base.Empty, access.Me, Permission.SELF, SAFE, access_handlers.get_me),
    Operation("CreateToken", "POST", "/v1/tokens", access.CreateTokenRequest, access.CreatedToken, Permission.TOKEN_MANAGE, NATURAL, access_handlers.create_token, status=201),
    Operation("ListTokens", "GET", "/v1/tokens", access.ListTokensRequest, access.TokenPage, Permission.TOKEN_MANAGE, SAFE, access_handlers.list_tokens),
    Operation("RevokeToken", "DELETE", "/v1/tokens/{token}", access.TokenRequest, access.Token, Permission.TOKEN_MANAGE, NATURAL, access_handlers.revoke_token),
    Operation("IssueJoinToken", "POST", "/v1/join-tokens", access.IssueJoinTokenRequest, access.JoinToken, Permission.WORKER_JOIN, NATURAL, access_handlers.issue_join_token, status=201),
    Operation("JoinWorker", "POST", "/v1/workers/join", access.JoinWorkerRequest, access.WorkerCredentials, Access.JOIN_TOKEN, NATURAL, access_handlers.join_worker, rate=RateClass.JOIN),
    Operation("GetHealth", "GET", "/v1/health", base.Empty, access.Health, Access.PUBLIC, SAFE, access_handlers.get_health),
)
# fmt: on
