"""Experiments and what they are made of and leave behind, and models."""

from services.gateway.bulk_actions import operations as bulk_handlers, schema as bulk
from services.gateway.checkpoints import schema as checkpoints
from services.gateway.checkpoints.operations import curate as curation_handlers, read as checkpoint_handlers
from services.gateway.cluster import schema as cluster
from services.gateway.code import operations as code_handlers, schema as code
from services.gateway.deletions import operations as deleting_handlers, schema as deletions
from services.gateway.experiment_groups import operations as grouping_handlers, schema as grouping
from services.gateway.experiments import schema as experiments
from services.gateway.experiments.operations import (
    create as submit_handlers,
    edit as editing_handlers,
    edit_search as searching_handlers,
    label as labelling_handlers,
    lifecycle as lifecycle_handlers,
    read as experiment_handlers,
)
from services.gateway.exports import operations as export_handlers, schema as exports
from services.gateway.lineage import operations as lineage_handlers, schema as lineage
from services.gateway.logs import schema as logs
from services.gateway.logs.operations import read as log_handlers, search as log_search_handlers
from services.gateway.media import operations as media_handlers, schema as media
from services.gateway.metrics import schema as metrics
from services.gateway.metrics.operations import (
    follow as following_handlers,
    follow_all as following_all_handlers,
    read as metric_handlers,
)
from services.gateway.model_versions import operations as version_handlers, schema as versions
from services.gateway.models import operations as model_handlers, schema as models
from services.gateway.phases import operations as phase_handlers, schema as phases
from services.gateway.plans import operations as plan_handlers, schema as plans
from services.gateway.platform import schema as base
from services.gateway.platform.audit.records import Audited
from services.gateway.platform.auth.permissions import Permission
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_terms import (
    APPROVE_MODEL,
    DOWNLOAD,
    KEY,
    LOOK,
    MANAGE,
    NATURAL,
    POLICY,
    READ_EXPERIMENT,
    READ_MODEL,
    SAFE,
    WRITE_EXPERIMENT,
    WRITE_MODEL,
)
from services.gateway.policies import schema as policies
from services.gateway.policies.operations import policies as policy_handlers, templates as template_handlers
from services.gateway.retention import operations as retention_handlers, schema as retention
from services.gateway.searches import operations as search_handlers, schema as searches
from services.gateway.trial_tables import operations as table_handlers, schema as tables
from services.gateway.trials import schema as trials
from services.gateway.trials.operations import kill as killing_handlers, read as trial_handlers

# fmt: off
CONTENT: tuple[Operation, ...] = (  # type: ignore[type-arg]
    # experiments
    Operation("CreateExperiment", "POST", "/v1/experiments", experiments.CreateExperimentRequest, experiments.ExperimentDetail, WRITE_EXPERIMENT, KEY, submit_handlers.create_experiment, status=201, waits=True),
    Operation("ForkExperiment", "POST", "/v1/experiments/{experiment}/fork", experiments.ForkExperimentRequest, experiments.ExperimentDetail, WRITE_EXPERIMENT, KEY, submit_handlers.fork_experiment, status=201, waits=True),
    Operation("ListExperiments", "GET", "/v1/experiments", experiments.ListExperimentsRequest, experiments.ExperimentPage, READ_EXPERIMENT, SAFE, experiment_handlers.list_experiments),
    Operation("ListExperimentGroups", "GET", "/v1/experiment-groups", grouping.ListExperimentGroupsRequest, grouping.ExperimentGroupPage, READ_EXPERIMENT, SAFE, grouping_handlers.list_experiment_groups),
    Operation("GetExperiment", "GET", "/v1/experiments/{experiment}", experiments.ExperimentRequest, experiments.ExperimentDetail, READ_EXPERIMENT, SAFE, experiment_handlers.get_experiment),
    Operation("ListExperimentJournal", "GET", "/v1/experiments/{experiment}/journal", experiments.ListJournalRequest, experiments.JournalPage, READ_EXPERIMENT, SAFE, experiment_handlers.list_journal, waits=True),
    Operation("ReplayExperiment", "GET", "/v1/experiments/{experiment}/replay", experiments.ExperimentRequest, experiments.Replay, READ_EXPERIMENT, SAFE, experiment_handlers.replay_experiment, waits=True),
    Operation("PauseExperiment", "POST", "/v1/experiments/{experiment}/pause", experiments.ExperimentRequest, experiments.Experiment, WRITE_EXPERIMENT, NATURAL, lifecycle_handlers.pause_experiment, long=True),
    Operation("ResumeExperiment", "POST", "/v1/experiments/{experiment}/resume", experiments.ExperimentRequest, experiments.Experiment, WRITE_EXPERIMENT, NATURAL, lifecycle_handlers.resume_experiment, long=True),
    Operation("CancelExperiment", "POST", "/v1/experiments/{experiment}/cancel", experiments.ExperimentRequest, experiments.Experiment, WRITE_EXPERIMENT, NATURAL, lifecycle_handlers.cancel_experiment, long=True),
    Operation("KillExperiment", "POST", "/v1/experiments/{experiment}/kill", experiments.ExperimentRequest, experiments.Experiment, WRITE_EXPERIMENT, NATURAL, lifecycle_handlers.kill_experiment, long=True),
    Operation("EditExperiment", "PATCH", "/v1/experiments/{experiment}", experiments.EditExperimentRequest, experiments.ExperimentDetail, WRITE_EXPERIMENT, NATURAL, editing_handlers.edit_experiment, long=True, conditional=True),
    Operation("EditSearch", "PATCH", "/v1/experiments/{experiment}/search", experiments.EditSearchRequest, experiments.ExperimentDetail, WRITE_EXPERIMENT, NATURAL, searching_handlers.edit_search, long=True, conditional=True),
    Operation("FinishExperiment", "POST", "/v1/experiments/{experiment}/finish", experiments.ExperimentRequest, experiments.Experiment, WRITE_EXPERIMENT, NATURAL, lifecycle_handlers.finish_experiment, long=True),
    Operation("ArchiveExperiment", "POST", "/v1/experiments/{experiment}/archive", experiments.ExperimentRequest, experiments.Experiment, WRITE_EXPERIMENT, NATURAL, lifecycle_handlers.archive_experiment, long=True),
    Operation("UnarchiveExperiment", "POST", "/v1/experiments/{experiment}/unarchive", experiments.ExperimentRequest, experiments.Experiment, WRITE_EXPERIMENT, NATURAL, lifecycle_handlers.unarchive_experiment, long=True),
    Operation("PreviewExperiments", "GET", "/v1/bulk/experiments", bulk.PreviewExperimentsRequest, bulk.ExperimentSelection, WRITE_EXPERIMENT, SAFE, bulk_handlers.preview_experiments),
    Operation("ActOnExperiments", "POST", "/v1/bulk/experiments", bulk.ActOnExperimentsRequest, bulk.BulkOutcome, WRITE_EXPERIMENT, NATURAL, bulk_handlers.act_on_experiments, waits=True),
    Operation("LabelExperiments", "POST", "/v1/bulk/experiments/labels", bulk.LabelExperimentsRequest, bulk.LabelledExperiments, WRITE_EXPERIMENT, NATURAL, labelling_handlers.label_experiments, waits=True),
    Operation("DeleteExperiment", "DELETE", "/v1/experiments/{experiment}", deletions.DeleteExperimentRequest, deletions.Deletion, WRITE_EXPERIMENT, NATURAL, deleting_handlers.delete_experiment, long=True),
    Operation("DeleteWorkspace", "DELETE", "/v1/workspaces/{workspace}", deletions.DeleteWorkspaceRequest, deletions.Deletion, POLICY, NATURAL, deleting_handlers.delete_workspace, long=True),
    Operation("PlanExperiment", "POST", "/v1/plans", plans.PlanExperimentRequest, plans.Plan, READ_EXPERIMENT, NATURAL, plan_handlers.plan_experiment, audited=Audited.NEVER, waits=True),
    # what configs are built from, and held to
    Operation("CreateTemplate", "POST", "/v1/templates", policies.CreateTemplateRequest, policies.Template, POLICY, KEY, template_handlers.create_template, status=201),
    Operation("ListTemplates", "GET", "/v1/templates", policies.ListTemplatesRequest, policies.TemplatePage, READ_EXPERIMENT, SAFE, template_handlers.list_templates),
    Operation("GetTemplate", "GET", "/v1/templates/{template}", policies.TemplateRequest, policies.Template, READ_EXPERIMENT, SAFE, template_handlers.get_template),
    Operation("EditTemplate", "PATCH", "/v1/templates/{template}", policies.EditTemplateRequest, policies.Template, POLICY, NATURAL, template_handlers.edit_template, conditional=True),
    Operation("DeleteTemplate", "DELETE", "/v1/templates/{template}", policies.TemplateRequest, base.Done, POLICY, NATURAL, template_handlers.delete_template, conditional=True),
    Operation("ListPolicies", "GET", "/v1/policies", base.Empty, policies.ConfigPolicies, READ_EXPERIMENT, SAFE, policy_handlers.list_policies),
    Operation("SetPolicy", "PUT", "/v1/policies", policies.SetPolicyRequest, policies.ConfigPolicy, POLICY, NATURAL, policy_handlers.set_policy),
    # searches that a program drives
    Operation("GetSearch", "GET", "/v1/experiments/{experiment}/search", searches.SearchRequest, searches.DrivenSearch, READ_EXPERIMENT, SAFE, search_handlers.get_search, waits=True),
    Operation("ListSearchEvents", "GET", "/v1/experiments/{experiment}/search/events", searches.ListSearchEventsRequest, searches.SearchEventPage, READ_EXPERIMENT, SAFE, search_handlers.list_search_events, waits=True),
    Operation("TellSearch", "POST", "/v1/experiments/{experiment}/search/tell", searches.TellSearchRequest, searches.DrivenSearch, WRITE_EXPERIMENT, NATURAL, search_handlers.tell_search, waits=True),
    # trials
    Operation("ListTrials", "GET", "/v1/experiments/{experiment}/trials", trials.ListTrialsRequest, trials.TrialPage, READ_EXPERIMENT, SAFE, trial_handlers.list_trials, waits=True),
    Operation("ListTrialTable", "GET", "/v1/experiments/{experiment}/table", tables.TrialTableRequest, tables.TrialTable, READ_EXPERIMENT, SAFE, table_handlers.list_trial_table, waits=True),
    Operation("ListTableColumns", "GET", "/v1/experiments/{experiment}/columns", tables.TableColumnsRequest, tables.TableColumns, READ_EXPERIMENT, SAFE, table_handlers.list_table_columns, waits=True),
    Operation("ListExperimentFront", "GET", "/v1/experiments/{experiment}/front", trials.ListFrontRequest, trials.FrontPage, READ_EXPERIMENT, SAFE, trial_handlers.list_front, waits=True),
    Operation("GetTrial", "GET", "/v1/trials/{trial}", trials.TrialRequest, trials.Trial, READ_EXPERIMENT, SAFE, trial_handlers.get_trial),
    Operation("KillTrial", "POST", "/v1/trials/{trial}/kill", trials.TrialRequest, trials.Trial, WRITE_EXPERIMENT, NATURAL, killing_handlers.kill_trial, long=True),
    Operation("ListRuns", "GET", "/v1/trials/{trial}/runs", trials.ListRunsRequest, trials.RunPage, READ_EXPERIMENT, SAFE, trial_handlers.list_runs),
    Operation("GetTrialPhases", "GET", "/v1/trials/{trial}/phases", trials.TrialRequest, phases.TrialPhases, READ_EXPERIMENT, SAFE, phase_handlers.get_trial_phases, waits=True),
    Operation("ListExperimentPhases", "GET", "/v1/experiments/{experiment}/phases", phases.ListExperimentPhasesRequest, phases.TrialPhasesPage, READ_EXPERIMENT, SAFE, phase_handlers.list_experiment_phases, waits=True),
    Operation("ExplainTrial", "GET", "/v1/trials/{trial}/explanation", trials.TrialRequest, cluster.Explanation, READ_EXPERIMENT, SAFE, trial_handlers.explain_trial, waits=True),
    # metrics and logs
    Operation("GetTrialMetrics", "GET", "/v1/trials/{trial}/metrics", metrics.TrialMetricsRequest, metrics.TrialMetrics, READ_EXPERIMENT, SAFE, metric_handlers.get_trial_metrics, waits=True),
    Operation("FollowTrialMetrics", "GET", "/v1/trials/{trial}/metrics/follow", metrics.FollowTrialMetricsRequest, metrics.ReportedValue, READ_EXPERIMENT, SAFE, following_handlers.follow_trial_metrics, stream="server"),
    Operation("GetTrialSummaries", "GET", "/v1/trials/{trial}/summaries", trials.TrialRequest, metrics.MetricSummaries, READ_EXPERIMENT, SAFE, metric_handlers.get_trial_summaries, waits=True),
    Operation("GetExperimentMetrics", "GET", "/v1/experiments/{experiment}/metrics", metrics.ExperimentMetricsRequest, metrics.ExperimentMetrics, READ_EXPERIMENT, SAFE, metric_handlers.get_experiment_metrics, waits=True),
    Operation("FollowExperimentMetrics", "GET", "/v1/experiments/{experiment}/metrics/follow", metrics.FollowExperimentMetricsRequest, metrics.ReportedValue, READ_EXPERIMENT, SAFE, following_all_handlers.follow_experiment_metrics, stream="server"),
    Operation("ExportMetrics", "GET", "/v1/experiments/{experiment}/metrics/export", exports.ExportMetricsRequest, exports.Export, READ_EXPERIMENT, SAFE, export_handlers.export_metrics, waits=True),
    Operation("ExportTable", "GET", "/v1/experiments/{experiment}/table/export", exports.ExportTableRequest, exports.Export, READ_EXPERIMENT, SAFE, export_handlers.export_table, waits=True),
    Operation("GetRetention", "GET", "/v1/retention", base.Empty, retention.RetentionRules, READ_EXPERIMENT, SAFE, retention_handlers.get_retention, waits=True),
    Operation("SetRetention", "PUT", "/v1/retention", retention.SetRetentionRequest, retention.RetentionRule, Permission.RETENTION_MANAGE, NATURAL, retention_handlers.set_retention, waits=True),
    Operation("ListTrialLogs", "GET", "/v1/trials/{trial}/logs", logs.ListTrialLogsRequest, logs.LogPage, READ_EXPERIMENT, SAFE, log_handlers.list_trial_logs, waits=True),
    Operation("ListExperimentLogs", "GET", "/v1/experiments/{experiment}/logs", logs.ListExperimentLogsRequest, logs.LogPage, READ_EXPERIMENT, SAFE, log_handlers.list_experiment_logs, waits=True),
    Operation("FollowTrialLogs", "GET", "/v1/trials/{trial}/logs/follow", logs.FollowTrialLogsRequest, logs.LogLine, READ_EXPERIMENT, SAFE, log_handlers.follow_trial_logs, stream="server"),
    Operation("FollowExperimentLogs", "GET", "/v1/experiments/{experiment}/logs/follow", logs.FollowExperimentLogsRequest, logs.LogLine, READ_EXPERIMENT, SAFE, log_handlers.follow_experiment_logs, stream="server"),
    Operation("SearchLogs", "GET", "/v1/logs", logs.SearchLogsRequest, logs.LogPage, READ_EXPERIMENT, SAFE, log_search_handlers.search_logs, waits=True),
    # checkpoints and code
    Operation("ListTrialMedia", "GET", "/v1/trials/{trial}/media", media.ListTrialMediaRequest, media.MediaPage, READ_EXPERIMENT, SAFE, media_handlers.list_trial_media, waits=True),
    Operation("ListTrialMediaNames", "GET", "/v1/trials/{trial}/media/names", media.ListTrialMediaNamesRequest, media.MediaNamePage, READ_EXPERIMENT, SAFE, media_handlers.list_trial_media_names, waits=True),
    Operation("GetTrialMediaContent", "GET", "/v1/trials/{trial}/media/{media}/content", media.TrialMediaRequest, media.MediaContent, READ_EXPERIMENT, SAFE, media_handlers.get_trial_media_content, waits=True),
    Operation("ListTrialCheckpoints", "GET", "/v1/trials/{trial}/checkpoints", checkpoints.ListTrialCheckpointsRequest, checkpoints.CheckpointPage, READ_EXPERIMENT, SAFE, checkpoint_handlers.list_trial_checkpoints, waits=True),
    Operation("ListExperimentCheckpoints", "GET", "/v1/experiments/{experiment}/checkpoints", checkpoints.ListExperimentCheckpointsRequest, checkpoints.CheckpointPage, READ_EXPERIMENT, SAFE, checkpoint_handlers.list_experiment_checkpoints, waits=True),
    Operation("GetCheckpoint", "GET", "/v1/checkpoints/{checkpoint}", checkpoints.CheckpointRequest, checkpoints.Checkpoint, READ_EXPERIMENT, SAFE, checkpoint_handlers.get_checkpoint, waits=True),
    Operation("DownloadCheckpoint", "GET", "/v1/checkpoints/{checkpoint}/files", checkpoints.CheckpointRequest, checkpoints.Download, DOWNLOAD, SAFE, checkpoint_handlers.download_checkpoint, audited=LOOK, waits=True),
    Operation("EditCheckpoint", "PATCH", "/v1/checkpoints/{checkpoint}", checkpoints.EditCheckpointRequest, checkpoints.Checkpoint, WRITE_EXPERIMENT, NATURAL, curation_handlers.edit_checkpoint, conditional=True, waits=True),
    Operation("DeleteCheckpoint", "DELETE", "/v1/checkpoints/{checkpoint}", checkpoints.CheckpointRequest, checkpoints.Checkpoint, WRITE_EXPERIMENT, NATURAL, curation_handlers.delete_checkpoint, conditional=True, waits=True),
    Operation("VerifyCheckpoint", "POST", "/v1/checkpoints/{checkpoint}/verify", checkpoints.CheckpointRequest, checkpoints.VerificationAsked, WRITE_EXPERIMENT, NATURAL, curation_handlers.verify_checkpoint, waits=True),
    Operation("VerifyCheckpoints", "POST", "/v1/experiments/{experiment}/checkpoints/verify", checkpoints.VerifyCheckpointsRequest, checkpoints.VerificationAsked, WRITE_EXPERIMENT, NATURAL, curation_handlers.verify_checkpoints, waits=True),
    Operation("CollectCheckpoints", "POST", "/v1/experiments/{experiment}/checkpoints/collect", checkpoints.CollectCheckpointsRequest, checkpoints.Collected, WRITE_EXPERIMENT, NATURAL, curation_handlers.collect_checkpoints, waits=True),
    Operation("GetStorage", "GET", "/v1/storage", base.Empty, checkpoints.Storage, READ_EXPERIMENT, SAFE, curation_handlers.get_storage, waits=True),
    Operation("SetStorageLimit", "PUT", "/v1/storage/limit", checkpoints.SetStorageLimitRequest, checkpoints.StorageLimit, MANAGE, NATURAL, curation_handlers.set_storage_limit),
    Operation("PutCode", "PUT", "/v1/code/{sha256}", code.PutCodeRequest, code.Code, Permission.CODE_WRITE, NATURAL, code_handlers.put_code, stream="upload"),
    Operation("GetCode", "GET", "/v1/code/{sha256}", code.CodeRequest, code.Code, Permission.CODE_WRITE, SAFE, code_handlers.get_code, waits=True),
    Operation("GetExperimentCode", "GET", "/v1/experiments/{experiment}/code", experiments.ExperimentRequest, code.ExperimentCode, READ_EXPERIMENT, SAFE, code_handlers.get_experiment_code, waits=True),
    Operation("GetExperimentCodeFile", "GET", "/v1/experiments/{experiment}/code/file", code.CodeFileRequest, code.CodeFileText, READ_EXPERIMENT, SAFE, code_handlers.get_experiment_code_file, waits=True),
    # models
    Operation("CreateModel", "POST", "/v1/models", models.CreateModelRequest, models.Model, WRITE_MODEL, KEY, model_handlers.create_model, status=201, long=True),
    Operation("ListModels", "GET", "/v1/models", models.ListModelsRequest, models.ModelPage, READ_MODEL, SAFE, model_handlers.list_models),
    Operation("GetModel", "GET", "/v1/models/{model}", models.ModelRequest, models.Model, READ_MODEL, SAFE, model_handlers.get_model),
    Operation("EditModel", "PATCH", "/v1/models/{model}", models.EditModelRequest, models.Model, WRITE_MODEL, KEY, model_handlers.edit_model, long=True, conditional=True),
    Operation("DeleteModel", "DELETE", "/v1/models/{model}", models.DeleteModelRequest, models.Model, WRITE_MODEL, KEY, model_handlers.delete_model, long=True, conditional=True),
    Operation("SetModelAlias", "PUT", "/v1/models/{model}/aliases/{alias}", models.SetModelAliasRequest, models.Model, WRITE_MODEL, KEY, model_handlers.set_alias, long=True, conditional=True),
    Operation("DeleteModelAlias", "DELETE", "/v1/models/{model}/aliases/{alias}", models.ModelAlias, models.Model, WRITE_MODEL, KEY, model_handlers.delete_alias, long=True, conditional=True),
    Operation("CreateModelVersion", "POST", "/v1/models/{model}/versions", versions.CreateModelVersionRequest, versions.ModelVersion, WRITE_MODEL, KEY, version_handlers.create_version, status=201, long=True),
    Operation("ListModelVersions", "GET", "/v1/models/{model}/versions", versions.ListModelVersionsRequest, versions.ModelVersionPage, READ_MODEL, SAFE, version_handlers.list_versions),
    Operation("GetModelVersion", "GET", "/v1/models/{model}/versions/{version}", versions.ModelVersionRequest, versions.ModelVersion, READ_MODEL, SAFE, version_handlers.get_version),
    Operation("EditModelVersion", "PATCH", "/v1/models/{model}/versions/{version}", versions.EditModelVersionRequest, versions.ModelVersion, WRITE_MODEL, KEY, version_handlers.edit_version, long=True, conditional=True),
    Operation("DeleteModelVersion", "DELETE", "/v1/models/{model}/versions/{version}", versions.DeleteModelVersionRequest, versions.ModelVersion, WRITE_MODEL, KEY, version_handlers.delete_version, long=True, conditional=True),
    Operation("DownloadModelVersion", "GET", "/v1/models/{model}/versions/{version}/files", versions.ModelVersionRequest, checkpoints.Download, READ_MODEL, SAFE, version_handlers.download_version, audited=LOOK, waits=True),
    Operation("CompareModelVersions", "GET", "/v1/models/{model}/compare", versions.CompareModelVersionsRequest, versions.ModelComparison, READ_MODEL, SAFE, version_handlers.compare_versions, waits=True),
    Operation("SetModelStage", "POST", "/v1/models/{model}/versions/{version}/stage", versions.SetModelStageRequest, versions.ModelVersion, WRITE_MODEL, KEY, version_handlers.set_stage, long=True, conditional=True),
    Operation("ApproveModelStage", "POST", "/v1/models/{model}/versions/{version}/stage/approve", versions.DecideModelStageRequest, versions.ModelVersion, APPROVE_MODEL, KEY, version_handlers.approve_stage, long=True, conditional=True),
    Operation("RejectModelStage", "POST", "/v1/models/{model}/versions/{version}/stage/reject", versions.DecideModelStageRequest, versions.ModelVersion, APPROVE_MODEL, KEY, version_handlers.reject_stage, long=True, conditional=True),
    Operation("RecordModelUse", "POST", "/v1/models/{model}/versions/{version}/uses", versions.RecordModelUseRequest, versions.ModelVersion, WRITE_MODEL, KEY, version_handlers.record_use, long=True),
    Operation("GetLineage", "GET", "/v1/lineage", lineage.GetLineageRequest, lineage.LineageGraph, READ_MODEL, SAFE, lineage_handlers.get_lineage, waits=True),
)
# fmt: on
