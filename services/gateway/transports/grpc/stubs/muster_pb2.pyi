import datetime

from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AuditOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    AUDIT_OUTCOME_UNSPECIFIED: _ClassVar[AuditOutcome]
    AUDIT_OUTCOME_ALLOWED: _ClassVar[AuditOutcome]
    AUDIT_OUTCOME_DENIED: _ClassVar[AuditOutcome]

class BulkAction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    BULK_ACTION_UNSPECIFIED: _ClassVar[BulkAction]
    BULK_ACTION_PAUSE: _ClassVar[BulkAction]
    BULK_ACTION_RESUME: _ClassVar[BulkAction]
    BULK_ACTION_CANCEL: _ClassVar[BulkAction]
    BULK_ACTION_KILL: _ClassVar[BulkAction]
    BULK_ACTION_FINISH: _ClassVar[BulkAction]
    BULK_ACTION_ARCHIVE: _ClassVar[BulkAction]
    BULK_ACTION_UNARCHIVE: _ClassVar[BulkAction]

class CheckpointState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CHECKPOINT_STATE_UNSPECIFIED: _ClassVar[CheckpointState]
    CHECKPOINT_STATE_UPLOADING: _ClassVar[CheckpointState]
    CHECKPOINT_STATE_SAVED: _ClassVar[CheckpointState]
    CHECKPOINT_STATE_ABANDONED: _ClassVar[CheckpointState]
    CHECKPOINT_STATE_CORRUPT: _ClassVar[CheckpointState]
    CHECKPOINT_STATE_DELETED: _ClassVar[CheckpointState]

class CostKey(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    COST_KEY_UNSPECIFIED: _ClassVar[CostKey]
    COST_KEY_DAY: _ClassVar[CostKey]
    COST_KEY_POOL: _ClassVar[CostKey]
    COST_KEY_TENANT: _ClassVar[CostKey]
    COST_KEY_EXPERIMENT: _ClassVar[CostKey]

class DeliveryState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DELIVERY_STATE_UNSPECIFIED: _ClassVar[DeliveryState]
    DELIVERY_STATE_WAITING: _ClassVar[DeliveryState]
    DELIVERY_STATE_DELIVERED: _ClassVar[DeliveryState]
    DELIVERY_STATE_DEAD: _ClassVar[DeliveryState]

class EventKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EVENT_KIND_UNSPECIFIED: _ClassVar[EventKind]
    EVENT_KIND_EXPERIMENT: _ClassVar[EventKind]
    EVENT_KIND_TRIAL: _ClassVar[EventKind]
    EVENT_KIND_RUN: _ClassVar[EventKind]
    EVENT_KIND_CHECKPOINT: _ClassVar[EventKind]
    EVENT_KIND_MODEL: _ClassVar[EventKind]
    EVENT_KIND_VERSION: _ClassVar[EventKind]
    EVENT_KIND_BUDGET: _ClassVar[EventKind]
    EVENT_KIND_REQUEST: _ClassVar[EventKind]
    EVENT_KIND_LABELS: _ClassVar[EventKind]

class ExperimentGrouping(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EXPERIMENT_GROUPING_UNSPECIFIED: _ClassVar[ExperimentGrouping]
    EXPERIMENT_GROUPING_OWNER: _ClassVar[ExperimentGrouping]
    EXPERIMENT_GROUPING_WORKSPACE: _ClassVar[ExperimentGrouping]
    EXPERIMENT_GROUPING_PROJECT: _ClassVar[ExperimentGrouping]
    EXPERIMENT_GROUPING_STATE: _ClassVar[ExperimentGrouping]
    EXPERIMENT_GROUPING_SEARCHER: _ClassVar[ExperimentGrouping]
    EXPERIMENT_GROUPING_METRIC: _ClassVar[ExperimentGrouping]
    EXPERIMENT_GROUPING_LABELS: _ClassVar[ExperimentGrouping]

class ExperimentState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EXPERIMENT_STATE_UNSPECIFIED: _ClassVar[ExperimentState]
    EXPERIMENT_STATE_SUBMITTED: _ClassVar[ExperimentState]
    EXPERIMENT_STATE_ACTIVE: _ClassVar[ExperimentState]
    EXPERIMENT_STATE_PAUSED: _ClassVar[ExperimentState]
    EXPERIMENT_STATE_STOPPING: _ClassVar[ExperimentState]
    EXPERIMENT_STATE_COMPLETED: _ClassVar[ExperimentState]
    EXPERIMENT_STATE_CANCELLED: _ClassVar[ExperimentState]
    EXPERIMENT_STATE_ERROR: _ClassVar[ExperimentState]
    EXPERIMENT_STATE_REJECTED: _ClassVar[ExperimentState]

class ExportFormat(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EXPORT_FORMAT_UNSPECIFIED: _ClassVar[ExportFormat]
    EXPORT_FORMAT_ARROW: _ClassVar[ExportFormat]
    EXPORT_FORMAT_PARQUET: _ClassVar[ExportFormat]

class HealthState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    HEALTH_STATE_UNSPECIFIED: _ClassVar[HealthState]
    HEALTH_STATE_OK: _ClassVar[HealthState]
    HEALTH_STATE_DEGRADED: _ClassVar[HealthState]

class Isolation(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ISOLATION_UNSPECIFIED: _ClassVar[Isolation]
    ISOLATION_SANDBOX: _ClassVar[Isolation]
    ISOLATION_USER: _ClassVar[Isolation]
    ISOLATION_NONE: _ClassVar[Isolation]

class LineageKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LINEAGE_KIND_UNSPECIFIED: _ClassVar[LineageKind]
    LINEAGE_KIND_DATASET: _ClassVar[LineageKind]
    LINEAGE_KIND_CODE: _ClassVar[LineageKind]
    LINEAGE_KIND_EXPERIMENT: _ClassVar[LineageKind]
    LINEAGE_KIND_TRIAL: _ClassVar[LineageKind]
    LINEAGE_KIND_CHECKPOINT: _ClassVar[LineageKind]
    LINEAGE_KIND_VERSION: _ClassVar[LineageKind]
    LINEAGE_KIND_CONSUMER: _ClassVar[LineageKind]

class LogLevel(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LOG_LEVEL_UNSPECIFIED: _ClassVar[LogLevel]
    LOG_LEVEL_DEBUG: _ClassVar[LogLevel]
    LOG_LEVEL_INFO: _ClassVar[LogLevel]
    LOG_LEVEL_WARNING: _ClassVar[LogLevel]
    LOG_LEVEL_ERROR: _ClassVar[LogLevel]

class LogStream(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LOG_STREAM_UNSPECIFIED: _ClassVar[LogStream]
    LOG_STREAM_STDOUT: _ClassVar[LogStream]
    LOG_STREAM_STDERR: _ClassVar[LogStream]
    LOG_STREAM_PLATFORM: _ClassVar[LogStream]

class MachineEventKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MACHINE_EVENT_KIND_UNSPECIFIED: _ClassVar[MachineEventKind]
    MACHINE_EVENT_KIND_INSTANCE: _ClassVar[MachineEventKind]
    MACHINE_EVENT_KIND_PROVIDER: _ClassVar[MachineEventKind]

class MediaKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MEDIA_KIND_UNSPECIFIED: _ClassVar[MediaKind]
    MEDIA_KIND_IMAGE: _ClassVar[MediaKind]
    MEDIA_KIND_TABLE: _ClassVar[MediaKind]
    MEDIA_KIND_TEXT: _ClassVar[MediaKind]
    MEDIA_KIND_HISTOGRAM: _ClassVar[MediaKind]
    MEDIA_KIND_EVENTS: _ClassVar[MediaKind]

class ModelStage(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MODEL_STAGE_UNSPECIFIED: _ClassVar[ModelStage]
    MODEL_STAGE_NONE: _ClassVar[ModelStage]
    MODEL_STAGE_CANDIDATE: _ClassVar[ModelStage]
    MODEL_STAGE_STAGING: _ClassVar[ModelStage]
    MODEL_STAGE_PRODUCTION: _ClassVar[ModelStage]
    MODEL_STAGE_ARCHIVED: _ClassVar[ModelStage]

class NotFinite(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NOT_FINITE_UNSPECIFIED: _ClassVar[NotFinite]
    NOT_FINITE_NAN: _ClassVar[NotFinite]
    NOT_FINITE_INFINITY: _ClassVar[NotFinite]
    NOT_FINITE_NEGATIVE_INFINITY: _ClassVar[NotFinite]

class OfferOrder(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OFFER_ORDER_UNSPECIFIED: _ClassVar[OfferOrder]
    OFFER_ORDER_CHEAPEST: _ClassVar[OfferOrder]
    OFFER_ORDER_GIVEN: _ClassVar[OfferOrder]

class OperationState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OPERATION_STATE_UNSPECIFIED: _ClassVar[OperationState]
    OPERATION_STATE_RUNNING: _ClassVar[OperationState]
    OPERATION_STATE_DONE: _ClassVar[OperationState]
    OPERATION_STATE_REFUSED: _ClassVar[OperationState]

class PhaseKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PHASE_KIND_UNSPECIFIED: _ClassVar[PhaseKind]
    PHASE_KIND_QUEUED: _ClassVar[PhaseKind]
    PHASE_KIND_PARKED: _ClassVar[PhaseKind]
    PHASE_KIND_PREPARING: _ClassVar[PhaseKind]
    PHASE_KIND_FETCHING_CODE: _ClassVar[PhaseKind]
    PHASE_KIND_MAKING_ENVIRONMENT: _ClassVar[PhaseKind]
    PHASE_KIND_RESTORING: _ClassVar[PhaseKind]
    PHASE_KIND_STARTING: _ClassVar[PhaseKind]
    PHASE_KIND_TRAINING: _ClassVar[PhaseKind]
    PHASE_KIND_FIRST_STEP: _ClassVar[PhaseKind]
    PHASE_KIND_WRITING_CHECKPOINT: _ClassVar[PhaseKind]
    PHASE_KIND_UPLOADING_CHECKPOINT: _ClassVar[PhaseKind]
    PHASE_KIND_RUNNING: _ClassVar[PhaseKind]

class PlanBasis(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PLAN_BASIS_UNSPECIFIED: _ClassVar[PlanBasis]
    PLAN_BASIS_EARLIER_TRIALS: _ClassVar[PlanBasis]
    PLAN_BASIS_STATED_MODEL: _ClassVar[PlanBasis]

class PoolOrder(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    POOL_ORDER_UNSPECIFIED: _ClassVar[PoolOrder]
    POOL_ORDER_FIFO: _ClassVar[PoolOrder]
    POOL_ORDER_PRIORITY: _ClassVar[PoolOrder]
    POOL_ORDER_FAIR_SHARE: _ClassVar[PoolOrder]

class PoolPlacement(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    POOL_PLACEMENT_UNSPECIFIED: _ClassVar[PoolPlacement]
    POOL_PLACEMENT_BEST_FIT: _ClassVar[PoolPlacement]
    POOL_PLACEMENT_SPREAD: _ClassVar[PoolPlacement]

class Purchase(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PURCHASE_UNSPECIFIED: _ClassVar[Purchase]
    PURCHASE_ON_DEMAND: _ClassVar[Purchase]
    PURCHASE_SPOT: _ClassVar[Purchase]

class Role(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ROLE_UNSPECIFIED: _ClassVar[Role]
    ROLE_ADMIN: _ClassVar[Role]
    ROLE_EDITOR: _ClassVar[Role]
    ROLE_VIEWER: _ClassVar[Role]
    ROLE_OPERATOR: _ClassVar[Role]

class SearchEventKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SEARCH_EVENT_KIND_UNSPECIFIED: _ClassVar[SearchEventKind]
    SEARCH_EVENT_KIND_CREATED: _ClassVar[SearchEventKind]
    SEARCH_EVENT_KIND_VALIDATION: _ClassVar[SearchEventKind]
    SEARCH_EVENT_KIND_ENDED: _ClassVar[SearchEventKind]

class SearchVerb(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SEARCH_VERB_UNSPECIFIED: _ClassVar[SearchVerb]
    SEARCH_VERB_CREATE: _ClassVar[SearchVerb]
    SEARCH_VERB_GO_ON: _ClassVar[SearchVerb]
    SEARCH_VERB_STOP: _ClassVar[SearchVerb]
    SEARCH_VERB_PROGRESS: _ClassVar[SearchVerb]
    SEARCH_VERB_SHUTDOWN: _ClassVar[SearchVerb]
    SEARCH_VERB_FAIL: _ClassVar[SearchVerb]

class TrialOrder(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TRIAL_ORDER_UNSPECIFIED: _ClassVar[TrialOrder]
    TRIAL_ORDER_NUMBER: _ClassVar[TrialOrder]
    TRIAL_ORDER_BEST: _ClassVar[TrialOrder]

class TrialState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TRIAL_STATE_UNSPECIFIED: _ClassVar[TrialState]
    TRIAL_STATE_QUEUED: _ClassVar[TrialState]
    TRIAL_STATE_RUNNING: _ClassVar[TrialState]
    TRIAL_STATE_PARKED: _ClassVar[TrialState]
    TRIAL_STATE_STOPPING: _ClassVar[TrialState]
    TRIAL_STATE_COMPLETED: _ClassVar[TrialState]
    TRIAL_STATE_STOPPED: _ClassVar[TrialState]
    TRIAL_STATE_ERROR: _ClassVar[TrialState]
    TRIAL_STATE_CANCELLED: _ClassVar[TrialState]

class UsageKey(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    USAGE_KEY_UNSPECIFIED: _ClassVar[UsageKey]
    USAGE_KEY_DAY: _ClassVar[UsageKey]
    USAGE_KEY_TENANT: _ClassVar[UsageKey]
    USAGE_KEY_WORKSPACE: _ClassVar[UsageKey]
    USAGE_KEY_USER: _ClassVar[UsageKey]
    USAGE_KEY_EXPERIMENT: _ClassVar[UsageKey]
    USAGE_KEY_POOL: _ClassVar[UsageKey]

class UserKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    USER_KIND_UNSPECIFIED: _ClassVar[UserKind]
    USER_KIND_PERSON: _ClassVar[UserKind]
    USER_KIND_SERVICE_ACCOUNT: _ClassVar[UserKind]

class WebhookFilter(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    WEBHOOK_FILTER_UNSPECIFIED: _ClassVar[WebhookFilter]
    WEBHOOK_FILTER_EVENTS: _ClassVar[WebhookFilter]
    WEBHOOK_FILTER_LABELS: _ClassVar[WebhookFilter]

class WebhookForm(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    WEBHOOK_FORM_UNSPECIFIED: _ClassVar[WebhookForm]
    WEBHOOK_FORM_CLOUDEVENTS: _ClassVar[WebhookForm]
    WEBHOOK_FORM_SLACK: _ClassVar[WebhookForm]
    WEBHOOK_FORM_ALERTMANAGER: _ClassVar[WebhookForm]

class WhenSpent(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    WHEN_SPENT_UNSPECIFIED: _ClassVar[WhenSpent]
    WHEN_SPENT_HOLD: _ClassVar[WhenSpent]
    WHEN_SPENT_PREEMPT: _ClassVar[WhenSpent]
AUDIT_OUTCOME_UNSPECIFIED: AuditOutcome
AUDIT_OUTCOME_ALLOWED: AuditOutcome
AUDIT_OUTCOME_DENIED: AuditOutcome
BULK_ACTION_UNSPECIFIED: BulkAction
BULK_ACTION_PAUSE: BulkAction
BULK_ACTION_RESUME: BulkAction
BULK_ACTION_CANCEL: BulkAction
BULK_ACTION_KILL: BulkAction
BULK_ACTION_FINISH: BulkAction
BULK_ACTION_ARCHIVE: BulkAction
BULK_ACTION_UNARCHIVE: BulkAction
CHECKPOINT_STATE_UNSPECIFIED: CheckpointState
CHECKPOINT_STATE_UPLOADING: CheckpointState
CHECKPOINT_STATE_SAVED: CheckpointState
CHECKPOINT_STATE_ABANDONED: CheckpointState
CHECKPOINT_STATE_CORRUPT: CheckpointState
CHECKPOINT_STATE_DELETED: CheckpointState
COST_KEY_UNSPECIFIED: CostKey
COST_KEY_DAY: CostKey
COST_KEY_POOL: CostKey
COST_KEY_TENANT: CostKey
COST_KEY_EXPERIMENT: CostKey
DELIVERY_STATE_UNSPECIFIED: DeliveryState
DELIVERY_STATE_WAITING: DeliveryState
DELIVERY_STATE_DELIVERED: DeliveryState
DELIVERY_STATE_DEAD: DeliveryState
EVENT_KIND_UNSPECIFIED: EventKind
EVENT_KIND_EXPERIMENT: EventKind
EVENT_KIND_TRIAL: EventKind
EVENT_KIND_RUN: EventKind
EVENT_KIND_CHECKPOINT: EventKind
EVENT_KIND_MODEL: EventKind
EVENT_KIND_VERSION: EventKind
EVENT_KIND_BUDGET: EventKind
EVENT_KIND_REQUEST: EventKind
EVENT_KIND_LABELS: EventKind
EXPERIMENT_GROUPING_UNSPECIFIED: ExperimentGrouping
EXPERIMENT_GROUPING_OWNER: ExperimentGrouping
EXPERIMENT_GROUPING_WORKSPACE: ExperimentGrouping
EXPERIMENT_GROUPING_PROJECT: ExperimentGrouping
EXPERIMENT_GROUPING_STATE: ExperimentGrouping
EXPERIMENT_GROUPING_SEARCHER: ExperimentGrouping
EXPERIMENT_GROUPING_METRIC: ExperimentGrouping
EXPERIMENT_GROUPING_LABELS: ExperimentGrouping
EXPERIMENT_STATE_UNSPECIFIED: ExperimentState
EXPERIMENT_STATE_SUBMITTED: ExperimentState
EXPERIMENT_STATE_ACTIVE: ExperimentState
EXPERIMENT_STATE_PAUSED: ExperimentState
EXPERIMENT_STATE_STOPPING: ExperimentState
EXPERIMENT_STATE_COMPLETED: ExperimentState
EXPERIMENT_STATE_CANCELLED: ExperimentState
EXPERIMENT_STATE_ERROR: ExperimentState
EXPERIMENT_STATE_REJECTED: ExperimentState
EXPORT_FORMAT_UNSPECIFIED: ExportFormat
EXPORT_FORMAT_ARROW: ExportFormat
EXPORT_FORMAT_PARQUET: ExportFormat
HEALTH_STATE_UNSPECIFIED: HealthState
HEALTH_STATE_OK: HealthState
HEALTH_STATE_DEGRADED: HealthState
ISOLATION_UNSPECIFIED: Isolation
ISOLATION_SANDBOX: Isolation
ISOLATION_USER: Isolation
ISOLATION_NONE: Isolation
LINEAGE_KIND_UNSPECIFIED: LineageKind
LINEAGE_KIND_DATASET: LineageKind
LINEAGE_KIND_CODE: LineageKind
LINEAGE_KIND_EXPERIMENT: LineageKind
LINEAGE_KIND_TRIAL: LineageKind
LINEAGE_KIND_CHECKPOINT: LineageKind
LINEAGE_KIND_VERSION: LineageKind
LINEAGE_KIND_CONSUMER: LineageKind
LOG_LEVEL_UNSPECIFIED: LogLevel
LOG_LEVEL_DEBUG: LogLevel
LOG_LEVEL_INFO: LogLevel
LOG_LEVEL_WARNING: LogLevel
LOG_LEVEL_ERROR: LogLevel
LOG_STREAM_UNSPECIFIED: LogStream
LOG_STREAM_STDOUT: LogStream
LOG_STREAM_STDERR: LogStream
LOG_STREAM_PLATFORM: LogStream
MACHINE_EVENT_KIND_UNSPECIFIED: MachineEventKind
MACHINE_EVENT_KIND_INSTANCE: MachineEventKind
MACHINE_EVENT_KIND_PROVIDER: MachineEventKind
MEDIA_KIND_UNSPECIFIED: MediaKind
MEDIA_KIND_IMAGE: MediaKind
MEDIA_KIND_TABLE: MediaKind
MEDIA_KIND_TEXT: MediaKind
MEDIA_KIND_HISTOGRAM: MediaKind
MEDIA_KIND_EVENTS: MediaKind
MODEL_STAGE_UNSPECIFIED: ModelStage
MODEL_STAGE_NONE: ModelStage
MODEL_STAGE_CANDIDATE: ModelStage
MODEL_STAGE_STAGING: ModelStage
MODEL_STAGE_PRODUCTION: ModelStage
MODEL_STAGE_ARCHIVED: ModelStage
NOT_FINITE_UNSPECIFIED: NotFinite
NOT_FINITE_NAN: NotFinite
NOT_FINITE_INFINITY: NotFinite
NOT_FINITE_NEGATIVE_INFINITY: NotFinite
OFFER_ORDER_UNSPECIFIED: OfferOrder
OFFER_ORDER_CHEAPEST: OfferOrder
OFFER_ORDER_GIVEN: OfferOrder
OPERATION_STATE_UNSPECIFIED: OperationState
OPERATION_STATE_RUNNING: OperationState
OPERATION_STATE_DONE: OperationState
OPERATION_STATE_REFUSED: OperationState
PHASE_KIND_UNSPECIFIED: PhaseKind
PHASE_KIND_QUEUED: PhaseKind
PHASE_KIND_PARKED: PhaseKind
PHASE_KIND_PREPARING: PhaseKind
PHASE_KIND_FETCHING_CODE: PhaseKind
PHASE_KIND_MAKING_ENVIRONMENT: PhaseKind
PHASE_KIND_RESTORING: PhaseKind
PHASE_KIND_STARTING: PhaseKind
PHASE_KIND_TRAINING: PhaseKind
PHASE_KIND_FIRST_STEP: PhaseKind
PHASE_KIND_WRITING_CHECKPOINT: PhaseKind
PHASE_KIND_UPLOADING_CHECKPOINT: PhaseKind
PHASE_KIND_RUNNING: PhaseKind
PLAN_BASIS_UNSPECIFIED: PlanBasis
PLAN_BASIS_EARLIER_TRIALS: PlanBasis
PLAN_BASIS_STATED_MODEL: PlanBasis
POOL_ORDER_UNSPECIFIED: PoolOrder
POOL_ORDER_FIFO: PoolOrder
POOL_ORDER_PRIORITY: PoolOrder
POOL_ORDER_FAIR_SHARE: PoolOrder
POOL_PLACEMENT_UNSPECIFIED: PoolPlacement
POOL_PLACEMENT_BEST_FIT: PoolPlacement
POOL_PLACEMENT_SPREAD: PoolPlacement
PURCHASE_UNSPECIFIED: Purchase
PURCHASE_ON_DEMAND: Purchase
PURCHASE_SPOT: Purchase
ROLE_UNSPECIFIED: Role
ROLE_ADMIN: Role
ROLE_EDITOR: Role
ROLE_VIEWER: Role
ROLE_OPERATOR: Role
SEARCH_EVENT_KIND_UNSPECIFIED: SearchEventKind
SEARCH_EVENT_KIND_CREATED: SearchEventKind
SEARCH_EVENT_KIND_VALIDATION: SearchEventKind
SEARCH_EVENT_KIND_ENDED: SearchEventKind
SEARCH_VERB_UNSPECIFIED: SearchVerb
SEARCH_VERB_CREATE: SearchVerb
SEARCH_VERB_GO_ON: SearchVerb
SEARCH_VERB_STOP: SearchVerb
SEARCH_VERB_PROGRESS: SearchVerb
SEARCH_VERB_SHUTDOWN: SearchVerb
SEARCH_VERB_FAIL: SearchVerb
TRIAL_ORDER_UNSPECIFIED: TrialOrder
TRIAL_ORDER_NUMBER: TrialOrder
TRIAL_ORDER_BEST: TrialOrder
TRIAL_STATE_UNSPECIFIED: TrialState
TRIAL_STATE_QUEUED: TrialState
TRIAL_STATE_RUNNING: TrialState
TRIAL_STATE_PARKED: TrialState
TRIAL_STATE_STOPPING: TrialState
TRIAL_STATE_COMPLETED: TrialState
TRIAL_STATE_STOPPED: TrialState
TRIAL_STATE_ERROR: TrialState
TRIAL_STATE_CANCELLED: TrialState
USAGE_KEY_UNSPECIFIED: UsageKey
USAGE_KEY_DAY: UsageKey
USAGE_KEY_TENANT: UsageKey
USAGE_KEY_WORKSPACE: UsageKey
USAGE_KEY_USER: UsageKey
USAGE_KEY_EXPERIMENT: UsageKey
USAGE_KEY_POOL: UsageKey
USER_KIND_UNSPECIFIED: UserKind
USER_KIND_PERSON: UserKind
USER_KIND_SERVICE_ACCOUNT: UserKind
WEBHOOK_FILTER_UNSPECIFIED: WebhookFilter
WEBHOOK_FILTER_EVENTS: WebhookFilter
WEBHOOK_FILTER_LABELS: WebhookFilter
WEBHOOK_FORM_UNSPECIFIED: WebhookForm
WEBHOOK_FORM_CLOUDEVENTS: WebhookForm
WEBHOOK_FORM_SLACK: WebhookForm
WEBHOOK_FORM_ALERTMANAGER: WebhookForm
WHEN_SPENT_UNSPECIFIED: WhenSpent
WHEN_SPENT_HOLD: WhenSpent
WHEN_SPENT_PREEMPT: WhenSpent

class ActOnExperimentsRequest(_message.Message):
    __slots__ = ("action", "experiments", "selection")
    ACTION_FIELD_NUMBER: _ClassVar[int]
    EXPERIMENTS_FIELD_NUMBER: _ClassVar[int]
    SELECTION_FIELD_NUMBER: _ClassVar[int]
    action: BulkAction
    experiments: _containers.RepeatedScalarFieldContainer[str]
    selection: str
    def __init__(self, action: _Optional[_Union[BulkAction, str]] = ..., experiments: _Optional[_Iterable[str]] = ..., selection: _Optional[str] = ...) -> None: ...

class AuditHead(_message.Message):
    __slots__ = ("tenant", "sequence", "hash")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    sequence: int
    hash: str
    def __init__(self, tenant: _Optional[str] = ..., sequence: _Optional[int] = ..., hash: _Optional[str] = ...) -> None: ...

class AuditLine(_message.Message):
    __slots__ = ("line", "cursor")
    LINE_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    line: str
    cursor: str
    def __init__(self, line: _Optional[str] = ..., cursor: _Optional[str] = ...) -> None: ...

class AuditPage(_message.Message):
    __slots__ = ("items", "next_cursor")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[AuditRecord]
    next_cursor: str
    def __init__(self, items: _Optional[_Iterable[_Union[AuditRecord, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class AuditRecord(_message.Message):
    __slots__ = ("sequence", "at", "id", "actor", "user", "token", "operation", "entity", "path", "asked", "before", "after", "outcome", "code", "count", "address", "agent", "protocol", "trace_id", "hash")
    class PathEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    ASKED_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    at: _timestamp_pb2.Timestamp
    id: str
    actor: str
    user: str
    token: str
    operation: str
    entity: str
    path: _containers.ScalarMap[str, str]
    asked: _struct_pb2.Struct
    before: _struct_pb2.Struct
    after: _struct_pb2.Struct
    outcome: AuditOutcome
    code: str
    count: int
    address: str
    agent: str
    protocol: str
    trace_id: str
    hash: str
    def __init__(self, sequence: _Optional[int] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., id: _Optional[str] = ..., actor: _Optional[str] = ..., user: _Optional[str] = ..., token: _Optional[str] = ..., operation: _Optional[str] = ..., entity: _Optional[str] = ..., path: _Optional[_Mapping[str, str]] = ..., asked: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., before: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., after: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., outcome: _Optional[_Union[AuditOutcome, str]] = ..., code: _Optional[str] = ..., count: _Optional[int] = ..., address: _Optional[str] = ..., agent: _Optional[str] = ..., protocol: _Optional[str] = ..., trace_id: _Optional[str] = ..., hash: _Optional[str] = ...) -> None: ...

class AuditVerification(_message.Message):
    __slots__ = ("follows", "sequence", "hash", "complete", "broken_at", "broken_by", "anchors", "broken_anchor")
    FOLLOWS_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_FIELD_NUMBER: _ClassVar[int]
    BROKEN_AT_FIELD_NUMBER: _ClassVar[int]
    BROKEN_BY_FIELD_NUMBER: _ClassVar[int]
    ANCHORS_FIELD_NUMBER: _ClassVar[int]
    BROKEN_ANCHOR_FIELD_NUMBER: _ClassVar[int]
    follows: str
    sequence: int
    hash: str
    complete: bool
    broken_at: int
    broken_by: str
    anchors: int
    broken_anchor: str
    def __init__(self, follows: _Optional[str] = ..., sequence: _Optional[int] = ..., hash: _Optional[str] = ..., complete: _Optional[bool] = ..., broken_at: _Optional[int] = ..., broken_by: _Optional[str] = ..., anchors: _Optional[int] = ..., broken_anchor: _Optional[str] = ...) -> None: ...

class BeginSignInRequest(_message.Message):
    __slots__ = ("provider", "redirect")
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    REDIRECT_FIELD_NUMBER: _ClassVar[int]
    provider: str
    redirect: str
    def __init__(self, provider: _Optional[str] = ..., redirect: _Optional[str] = ...) -> None: ...

class Best(_message.Message):
    __slots__ = ("trial", "trial_number", "step", "value", "others", "checkpoint")
    class OthersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    TRIAL_FIELD_NUMBER: _ClassVar[int]
    TRIAL_NUMBER_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    OTHERS_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    trial: str
    trial_number: int
    step: int
    value: float
    others: _containers.ScalarMap[str, float]
    checkpoint: BestCheckpoint
    def __init__(self, trial: _Optional[str] = ..., trial_number: _Optional[int] = ..., step: _Optional[int] = ..., value: _Optional[float] = ..., others: _Optional[_Mapping[str, float]] = ..., checkpoint: _Optional[_Union[BestCheckpoint, _Mapping]] = ...) -> None: ...

class BestCheckpoint(_message.Message):
    __slots__ = ("id", "state", "reason")
    ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    id: str
    state: CheckpointState
    reason: str
    def __init__(self, id: _Optional[str] = ..., state: _Optional[_Union[CheckpointState, str]] = ..., reason: _Optional[str] = ...) -> None: ...

class BulkItem(_message.Message):
    __slots__ = ("experiment", "number", "state", "operation", "code", "message")
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    experiment: str
    number: int
    state: OperationState
    operation: str
    code: str
    message: str
    def __init__(self, experiment: _Optional[str] = ..., number: _Optional[int] = ..., state: _Optional[_Union[OperationState, str]] = ..., operation: _Optional[str] = ..., code: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class BulkOutcome(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[BulkItem]
    def __init__(self, items: _Optional[_Iterable[_Union[BulkItem, _Mapping]]] = ...) -> None: ...

class ChangePasswordRequest(_message.Message):
    __slots__ = ("old_password", "new_password")
    OLD_PASSWORD_FIELD_NUMBER: _ClassVar[int]
    NEW_PASSWORD_FIELD_NUMBER: _ClassVar[int]
    old_password: str
    new_password: str
    def __init__(self, old_password: _Optional[str] = ..., new_password: _Optional[str] = ...) -> None: ...

class Checkpoint(_message.Message):
    __slots__ = ("id", "trial", "experiment", "run", "step", "state", "size_bytes", "files", "metrics", "not_finite", "metadata", "reason", "created_at", "verified_at", "manifest")
    class MetricsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    class NotFiniteEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: NotFinite
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[NotFinite, str]] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    TRIAL_FIELD_NUMBER: _ClassVar[int]
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    METRICS_FIELD_NUMBER: _ClassVar[int]
    NOT_FINITE_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    VERIFIED_AT_FIELD_NUMBER: _ClassVar[int]
    MANIFEST_FIELD_NUMBER: _ClassVar[int]
    id: str
    trial: str
    experiment: str
    run: int
    step: int
    state: CheckpointState
    size_bytes: int
    files: int
    metrics: _containers.ScalarMap[str, float]
    not_finite: _containers.ScalarMap[str, NotFinite]
    metadata: _struct_pb2.Struct
    reason: str
    created_at: _timestamp_pb2.Timestamp
    verified_at: _timestamp_pb2.Timestamp
    manifest: _containers.RepeatedCompositeFieldContainer[CheckpointFile]
    def __init__(self, id: _Optional[str] = ..., trial: _Optional[str] = ..., experiment: _Optional[str] = ..., run: _Optional[int] = ..., step: _Optional[int] = ..., state: _Optional[_Union[CheckpointState, str]] = ..., size_bytes: _Optional[int] = ..., files: _Optional[int] = ..., metrics: _Optional[_Mapping[str, float]] = ..., not_finite: _Optional[_Mapping[str, NotFinite]] = ..., metadata: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., reason: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., verified_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., manifest: _Optional[_Iterable[_Union[CheckpointFile, _Mapping]]] = ...) -> None: ...

class CheckpointFile(_message.Message):
    __slots__ = ("path", "size_bytes", "sha256")
    PATH_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    path: str
    size_bytes: int
    sha256: str
    def __init__(self, path: _Optional[str] = ..., size_bytes: _Optional[int] = ..., sha256: _Optional[str] = ...) -> None: ...

class CheckpointPage(_message.Message):
    __slots__ = ("items", "next_cursor")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Checkpoint]
    next_cursor: str
    def __init__(self, items: _Optional[_Iterable[_Union[Checkpoint, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class CheckpointRequest(_message.Message):
    __slots__ = ("checkpoint",)
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    checkpoint: str
    def __init__(self, checkpoint: _Optional[str] = ...) -> None: ...

class Code(_message.Message):
    __slots__ = ("sha256", "size_bytes")
    SHA256_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    sha256: str
    size_bytes: int
    def __init__(self, sha256: _Optional[str] = ..., size_bytes: _Optional[int] = ...) -> None: ...

class CodeFile(_message.Message):
    __slots__ = ("path", "size_bytes", "sha256")
    PATH_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    path: str
    size_bytes: int
    sha256: str
    def __init__(self, path: _Optional[str] = ..., size_bytes: _Optional[int] = ..., sha256: _Optional[str] = ...) -> None: ...

class CodeFileRequest(_message.Message):
    __slots__ = ("experiment", "path")
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    experiment: str
    path: str
    def __init__(self, experiment: _Optional[str] = ..., path: _Optional[str] = ...) -> None: ...

class CodeFileText(_message.Message):
    __slots__ = ("path", "size_bytes", "sha256", "text", "is_cut")
    PATH_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    IS_CUT_FIELD_NUMBER: _ClassVar[int]
    path: str
    size_bytes: int
    sha256: str
    text: str
    is_cut: bool
    def __init__(self, path: _Optional[str] = ..., size_bytes: _Optional[int] = ..., sha256: _Optional[str] = ..., text: _Optional[str] = ..., is_cut: _Optional[bool] = ...) -> None: ...

class CodeRequest(_message.Message):
    __slots__ = ("sha256",)
    SHA256_FIELD_NUMBER: _ClassVar[int]
    sha256: str
    def __init__(self, sha256: _Optional[str] = ...) -> None: ...

class CollectCheckpointsRequest(_message.Message):
    __slots__ = ("experiment", "dry_run", "save_experiment_best", "save_trial_best", "save_trial_latest")
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    SAVE_EXPERIMENT_BEST_FIELD_NUMBER: _ClassVar[int]
    SAVE_TRIAL_BEST_FIELD_NUMBER: _ClassVar[int]
    SAVE_TRIAL_LATEST_FIELD_NUMBER: _ClassVar[int]
    experiment: str
    dry_run: bool
    save_experiment_best: int
    save_trial_best: int
    save_trial_latest: int
    def __init__(self, experiment: _Optional[str] = ..., dry_run: _Optional[bool] = ..., save_experiment_best: _Optional[int] = ..., save_trial_best: _Optional[int] = ..., save_trial_latest: _Optional[int] = ...) -> None: ...

class Collected(_message.Message):
    __slots__ = ("policy", "dry_run", "count", "size_bytes", "freed_bytes", "checkpoints", "kept")
    class KeptEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    POLICY_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    FREED_BYTES_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINTS_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    policy: RetentionPolicy
    dry_run: bool
    count: int
    size_bytes: int
    freed_bytes: int
    checkpoints: _containers.RepeatedCompositeFieldContainer[CollectedCheckpoint]
    kept: _containers.ScalarMap[str, int]
    def __init__(self, policy: _Optional[_Union[RetentionPolicy, _Mapping]] = ..., dry_run: _Optional[bool] = ..., count: _Optional[int] = ..., size_bytes: _Optional[int] = ..., freed_bytes: _Optional[int] = ..., checkpoints: _Optional[_Iterable[_Union[CollectedCheckpoint, _Mapping]]] = ..., kept: _Optional[_Mapping[str, int]] = ...) -> None: ...

class CollectedCheckpoint(_message.Message):
    __slots__ = ("id", "trial", "trial_number", "step", "size_bytes")
    ID_FIELD_NUMBER: _ClassVar[int]
    TRIAL_FIELD_NUMBER: _ClassVar[int]
    TRIAL_NUMBER_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    id: str
    trial: str
    trial_number: int
    step: int
    size_bytes: int
    def __init__(self, id: _Optional[str] = ..., trial: _Optional[str] = ..., trial_number: _Optional[int] = ..., step: _Optional[int] = ..., size_bytes: _Optional[int] = ...) -> None: ...

class CompareModelVersionsRequest(_message.Message):
    __slots__ = ("model", "base", "other")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    BASE_FIELD_NUMBER: _ClassVar[int]
    OTHER_FIELD_NUMBER: _ClassVar[int]
    model: str
    base: str
    other: str
    def __init__(self, model: _Optional[str] = ..., base: _Optional[str] = ..., other: _Optional[str] = ...) -> None: ...

class ConfigPolicies(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[ConfigPolicy]
    def __init__(self, items: _Optional[_Iterable[_Union[ConfigPolicy, _Mapping]]] = ...) -> None: ...

class ConfigPolicy(_message.Message):
    __slots__ = ("workspace", "invariant_config", "max_slots", "priority_limit", "changed_at", "by", "warnings")
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    INVARIANT_CONFIG_FIELD_NUMBER: _ClassVar[int]
    MAX_SLOTS_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_LIMIT_FIELD_NUMBER: _ClassVar[int]
    CHANGED_AT_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    workspace: str
    invariant_config: _struct_pb2.Struct
    max_slots: int
    priority_limit: int
    changed_at: _timestamp_pb2.Timestamp
    by: str
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, workspace: _Optional[str] = ..., invariant_config: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., max_slots: _Optional[int] = ..., priority_limit: _Optional[int] = ..., changed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., by: _Optional[str] = ..., warnings: _Optional[_Iterable[str]] = ...) -> None: ...

class CostShare(_message.Message):
    __slots__ = ("day", "pool", "tenant", "experiment", "experiment_name", "idle", "slot_hours", "cost")
    DAY_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    EXPERIMENT_NAME_FIELD_NUMBER: _ClassVar[int]
    IDLE_FIELD_NUMBER: _ClassVar[int]
    SLOT_HOURS_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    day: str
    pool: str
    tenant: str
    experiment: int
    experiment_name: str
    idle: bool
    slot_hours: float
    cost: float
    def __init__(self, day: _Optional[str] = ..., pool: _Optional[str] = ..., tenant: _Optional[str] = ..., experiment: _Optional[int] = ..., experiment_name: _Optional[str] = ..., idle: _Optional[bool] = ..., slot_hours: _Optional[float] = ..., cost: _Optional[float] = ...) -> None: ...

class CostShares(_message.Message):
    __slots__ = ("since", "until", "by", "items", "cost")
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    since: str
    until: str
    by: _containers.RepeatedScalarFieldContainer[CostKey]
    items: _containers.RepeatedCompositeFieldContainer[CostShare]
    cost: float
    def __init__(self, since: _Optional[str] = ..., until: _Optional[str] = ..., by: _Optional[_Iterable[_Union[CostKey, str]]] = ..., items: _Optional[_Iterable[_Union[CostShare, _Mapping]]] = ..., cost: _Optional[float] = ...) -> None: ...

class CreateExperimentRequest(_message.Message):
    __slots__ = ("config", "config_yaml", "code_sha256", "name", "template", "labels")
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    CONFIG_YAML_FIELD_NUMBER: _ClassVar[int]
    CODE_SHA256_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    config: _struct_pb2.Struct
    config_yaml: str
    code_sha256: str
    name: str
    template: str
    labels: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, config: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., config_yaml: _Optional[str] = ..., code_sha256: _Optional[str] = ..., name: _Optional[str] = ..., template: _Optional[str] = ..., labels: _Optional[_Iterable[str]] = ...) -> None: ...

class CreateGroupRequest(_message.Message):
    __slots__ = ("name", "description")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    name: str
    description: str
    def __init__(self, name: _Optional[str] = ..., description: _Optional[str] = ...) -> None: ...

class CreateMachinePoolRequest(_message.Message):
    __slots__ = ("kinds", "zones", "order", "minimum", "maximum", "maximum_slots", "reserve_slots", "spot_share", "on_demand_slots", "falls_back", "moves_runs", "batching_window_s", "idle_timeout_s", "join_timeout_s", "budget_per_month", "labels", "name")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    KINDS_FIELD_NUMBER: _ClassVar[int]
    ZONES_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    MINIMUM_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_SLOTS_FIELD_NUMBER: _ClassVar[int]
    RESERVE_SLOTS_FIELD_NUMBER: _ClassVar[int]
    SPOT_SHARE_FIELD_NUMBER: _ClassVar[int]
    ON_DEMAND_SLOTS_FIELD_NUMBER: _ClassVar[int]
    FALLS_BACK_FIELD_NUMBER: _ClassVar[int]
    MOVES_RUNS_FIELD_NUMBER: _ClassVar[int]
    BATCHING_WINDOW_S_FIELD_NUMBER: _ClassVar[int]
    IDLE_TIMEOUT_S_FIELD_NUMBER: _ClassVar[int]
    JOIN_TIMEOUT_S_FIELD_NUMBER: _ClassVar[int]
    BUDGET_PER_MONTH_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    kinds: _containers.RepeatedScalarFieldContainer[str]
    zones: _containers.RepeatedScalarFieldContainer[str]
    order: OfferOrder
    minimum: int
    maximum: int
    maximum_slots: int
    reserve_slots: int
    spot_share: float
    on_demand_slots: int
    falls_back: bool
    moves_runs: bool
    batching_window_s: float
    idle_timeout_s: float
    join_timeout_s: float
    budget_per_month: float
    labels: _containers.ScalarMap[str, str]
    name: str
    def __init__(self, kinds: _Optional[_Iterable[str]] = ..., zones: _Optional[_Iterable[str]] = ..., order: _Optional[_Union[OfferOrder, str]] = ..., minimum: _Optional[int] = ..., maximum: _Optional[int] = ..., maximum_slots: _Optional[int] = ..., reserve_slots: _Optional[int] = ..., spot_share: _Optional[float] = ..., on_demand_slots: _Optional[int] = ..., falls_back: _Optional[bool] = ..., moves_runs: _Optional[bool] = ..., batching_window_s: _Optional[float] = ..., idle_timeout_s: _Optional[float] = ..., join_timeout_s: _Optional[float] = ..., budget_per_month: _Optional[float] = ..., labels: _Optional[_Mapping[str, str]] = ..., name: _Optional[str] = ...) -> None: ...

class CreateModelRequest(_message.Message):
    __slots__ = ("name", "workspace", "description", "notes", "tags", "metadata", "approvals")
    class ApprovalsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    APPROVALS_FIELD_NUMBER: _ClassVar[int]
    name: str
    workspace: str
    description: str
    notes: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    metadata: _struct_pb2.Struct
    approvals: _containers.ScalarMap[str, int]
    def __init__(self, name: _Optional[str] = ..., workspace: _Optional[str] = ..., description: _Optional[str] = ..., notes: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., metadata: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., approvals: _Optional[_Mapping[str, int]] = ...) -> None: ...

class CreateModelVersionRequest(_message.Message):
    __slots__ = ("model", "checkpoint", "name", "comment", "notes", "tags", "metadata", "signature")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    COMMENT_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    model: str
    checkpoint: str
    name: str
    comment: str
    notes: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    metadata: _struct_pb2.Struct
    signature: Signature
    def __init__(self, model: _Optional[str] = ..., checkpoint: _Optional[str] = ..., name: _Optional[str] = ..., comment: _Optional[str] = ..., notes: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., metadata: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., signature: _Optional[_Union[Signature, _Mapping]] = ...) -> None: ...

class CreateReservationRequest(_message.Message):
    __slots__ = ("pool", "slots", "begins_at", "ends_at", "tenant", "workspace")
    POOL_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    BEGINS_AT_FIELD_NUMBER: _ClassVar[int]
    ENDS_AT_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    pool: str
    slots: int
    begins_at: _timestamp_pb2.Timestamp
    ends_at: _timestamp_pb2.Timestamp
    tenant: str
    workspace: str
    def __init__(self, pool: _Optional[str] = ..., slots: _Optional[int] = ..., begins_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ends_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., tenant: _Optional[str] = ..., workspace: _Optional[str] = ...) -> None: ...

class CreateRoleRequest(_message.Message):
    __slots__ = ("name", "description", "permissions")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    PERMISSIONS_FIELD_NUMBER: _ClassVar[int]
    name: str
    description: str
    permissions: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., description: _Optional[str] = ..., permissions: _Optional[_Iterable[str]] = ...) -> None: ...

class CreateTemplateRequest(_message.Message):
    __slots__ = ("name", "workspace", "description", "config")
    NAME_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    name: str
    workspace: str
    description: str
    config: _struct_pb2.Struct
    def __init__(self, name: _Optional[str] = ..., workspace: _Optional[str] = ..., description: _Optional[str] = ..., config: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class CreateTenantRequest(_message.Message):
    __slots__ = ("name", "ttl_s")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TTL_S_FIELD_NUMBER: _ClassVar[int]
    name: str
    ttl_s: int
    def __init__(self, name: _Optional[str] = ..., ttl_s: _Optional[int] = ...) -> None: ...

class CreateTokenRequest(_message.Message):
    __slots__ = ("name", "role", "ttl_s")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    TTL_S_FIELD_NUMBER: _ClassVar[int]
    name: str
    role: Role
    ttl_s: int
    def __init__(self, name: _Optional[str] = ..., role: _Optional[_Union[Role, str]] = ..., ttl_s: _Optional[int] = ...) -> None: ...

class CreateUserRequest(_message.Message):
    __slots__ = ("name", "kind", "display_name")
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    DISPLAY_NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    kind: UserKind
    display_name: str
    def __init__(self, name: _Optional[str] = ..., kind: _Optional[_Union[UserKind, str]] = ..., display_name: _Optional[str] = ...) -> None: ...

class CreateUserTokenRequest(_message.Message):
    __slots__ = ("user", "name", "scope", "ttl_s")
    USER_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    TTL_S_FIELD_NUMBER: _ClassVar[int]
    user: str
    name: str
    scope: _containers.RepeatedScalarFieldContainer[str]
    ttl_s: int
    def __init__(self, user: _Optional[str] = ..., name: _Optional[str] = ..., scope: _Optional[_Iterable[str]] = ..., ttl_s: _Optional[int] = ...) -> None: ...

class CreateWebhookRequest(_message.Message):
    __slots__ = ("name", "url", "form", "events", "labels", "workspace", "project")
    NAME_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    FORM_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    name: str
    url: str
    form: WebhookForm
    events: _containers.RepeatedScalarFieldContainer[str]
    labels: _containers.RepeatedScalarFieldContainer[str]
    workspace: str
    project: str
    def __init__(self, name: _Optional[str] = ..., url: _Optional[str] = ..., form: _Optional[_Union[WebhookForm, str]] = ..., events: _Optional[_Iterable[str]] = ..., labels: _Optional[_Iterable[str]] = ..., workspace: _Optional[str] = ..., project: _Optional[str] = ...) -> None: ...

class CreatedSession(_message.Message):
    __slots__ = ("id", "via", "address", "created_at", "used_at", "expires_at", "current", "secret", "user", "tenant")
    ID_FIELD_NUMBER: _ClassVar[int]
    VIA_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    USED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    CURRENT_FIELD_NUMBER: _ClassVar[int]
    SECRET_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    id: str
    via: str
    address: str
    created_at: _timestamp_pb2.Timestamp
    used_at: _timestamp_pb2.Timestamp
    expires_at: _timestamp_pb2.Timestamp
    current: bool
    secret: str
    user: str
    tenant: str
    def __init__(self, id: _Optional[str] = ..., via: _Optional[str] = ..., address: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., used_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., current: _Optional[bool] = ..., secret: _Optional[str] = ..., user: _Optional[str] = ..., tenant: _Optional[str] = ...) -> None: ...

class CreatedTenant(_message.Message):
    __slots__ = ("id", "name", "created_at", "secret", "expires_at")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    SECRET_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    created_at: _timestamp_pb2.Timestamp
    secret: str
    expires_at: _timestamp_pb2.Timestamp
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., secret: _Optional[str] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class CreatedToken(_message.Message):
    __slots__ = ("id", "name", "role", "created_at", "expires_at", "revoked_at", "user", "scope", "secret")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    REVOKED_AT_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    SECRET_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    role: Role
    created_at: _timestamp_pb2.Timestamp
    expires_at: _timestamp_pb2.Timestamp
    revoked_at: _timestamp_pb2.Timestamp
    user: str
    scope: _containers.RepeatedScalarFieldContainer[str]
    secret: str
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., role: _Optional[_Union[Role, str]] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., revoked_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., user: _Optional[str] = ..., scope: _Optional[_Iterable[str]] = ..., secret: _Optional[str] = ...) -> None: ...

class CreatedWebhook(_message.Message):
    __slots__ = ("id", "name", "origin", "form", "events", "labels", "workspace", "project", "enabled", "waiting", "dead", "previous_secret_until", "created_at", "by", "secret")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    FORM_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    DEAD_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_SECRET_UNTIL_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    SECRET_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    origin: str
    form: WebhookForm
    events: _containers.RepeatedScalarFieldContainer[str]
    labels: _containers.RepeatedScalarFieldContainer[str]
    workspace: str
    project: str
    enabled: bool
    waiting: int
    dead: int
    previous_secret_until: _timestamp_pb2.Timestamp
    created_at: _timestamp_pb2.Timestamp
    by: str
    secret: str
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., origin: _Optional[str] = ..., form: _Optional[_Union[WebhookForm, str]] = ..., events: _Optional[_Iterable[str]] = ..., labels: _Optional[_Iterable[str]] = ..., workspace: _Optional[str] = ..., project: _Optional[str] = ..., enabled: _Optional[bool] = ..., waiting: _Optional[int] = ..., dead: _Optional[int] = ..., previous_secret_until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., by: _Optional[str] = ..., secret: _Optional[str] = ...) -> None: ...

class DatasetReference(_message.Message):
    __slots__ = ("name", "version", "hash")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: str
    hash: str
    def __init__(self, name: _Optional[str] = ..., version: _Optional[str] = ..., hash: _Optional[str] = ...) -> None: ...

class DecideModelStageRequest(_message.Message):
    __slots__ = ("model", "version", "reason")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    model: str
    version: str
    reason: str
    def __init__(self, model: _Optional[str] = ..., version: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class DeleteExperimentRequest(_message.Message):
    __slots__ = ("experiment", "force")
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    experiment: str
    force: bool
    def __init__(self, experiment: _Optional[str] = ..., force: _Optional[bool] = ...) -> None: ...

class DeleteModelRequest(_message.Message):
    __slots__ = ("model", "reason")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    model: str
    reason: str
    def __init__(self, model: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class DeleteModelVersionRequest(_message.Message):
    __slots__ = ("model", "version", "reason")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    model: str
    version: str
    reason: str
    def __init__(self, model: _Optional[str] = ..., version: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class DeleteTenantRequest(_message.Message):
    __slots__ = ("tenant",)
    TENANT_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    def __init__(self, tenant: _Optional[str] = ...) -> None: ...

class DeleteWorkspaceRequest(_message.Message):
    __slots__ = ("workspace", "force")
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    workspace: str
    force: bool
    def __init__(self, workspace: _Optional[str] = ..., force: _Optional[bool] = ...) -> None: ...

class Deletion(_message.Message):
    __slots__ = ("id", "scope", "name", "state", "stage", "created_at", "ended_at")
    ID_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    id: str
    scope: str
    name: str
    state: OperationState
    stage: str
    created_at: _timestamp_pb2.Timestamp
    ended_at: _timestamp_pb2.Timestamp
    def __init__(self, id: _Optional[str] = ..., scope: _Optional[str] = ..., name: _Optional[str] = ..., state: _Optional[_Union[OperationState, str]] = ..., stage: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ended_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Difference(_message.Message):
    __slots__ = ("what", "name", "base", "other")
    WHAT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    BASE_FIELD_NUMBER: _ClassVar[int]
    OTHER_FIELD_NUMBER: _ClassVar[int]
    what: str
    name: str
    base: _struct_pb2.Value
    other: _struct_pb2.Value
    def __init__(self, what: _Optional[str] = ..., name: _Optional[str] = ..., base: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ..., other: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ...) -> None: ...

class Done(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Download(_message.Message):
    __slots__ = ("checkpoint", "step", "files")
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    checkpoint: str
    step: int
    files: _containers.RepeatedCompositeFieldContainer[FileDownload]
    def __init__(self, checkpoint: _Optional[str] = ..., step: _Optional[int] = ..., files: _Optional[_Iterable[_Union[FileDownload, _Mapping]]] = ...) -> None: ...

class DrainWorkerRequest(_message.Message):
    __slots__ = ("worker", "reclaim")
    WORKER_FIELD_NUMBER: _ClassVar[int]
    RECLAIM_FIELD_NUMBER: _ClassVar[int]
    worker: str
    reclaim: bool
    def __init__(self, worker: _Optional[str] = ..., reclaim: _Optional[bool] = ...) -> None: ...

class DrainWorkersRequest(_message.Message):
    __slots__ = ("labels", "pool", "reclaim")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    LABELS_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    RECLAIM_FIELD_NUMBER: _ClassVar[int]
    labels: _containers.ScalarMap[str, str]
    pool: str
    reclaim: bool
    def __init__(self, labels: _Optional[_Mapping[str, str]] = ..., pool: _Optional[str] = ..., reclaim: _Optional[bool] = ...) -> None: ...

class DrivenSearch(_message.Message):
    __slots__ = ("experiment", "experiment_number", "driver", "seen_at", "acknowledged", "waiting", "waiting_since")
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    EXPERIMENT_NUMBER_FIELD_NUMBER: _ClassVar[int]
    DRIVER_FIELD_NUMBER: _ClassVar[int]
    SEEN_AT_FIELD_NUMBER: _ClassVar[int]
    ACKNOWLEDGED_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    WAITING_SINCE_FIELD_NUMBER: _ClassVar[int]
    experiment: str
    experiment_number: int
    driver: str
    seen_at: _timestamp_pb2.Timestamp
    acknowledged: int
    waiting: int
    waiting_since: _timestamp_pb2.Timestamp
    def __init__(self, experiment: _Optional[str] = ..., experiment_number: _Optional[int] = ..., driver: _Optional[str] = ..., seen_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., acknowledged: _Optional[int] = ..., waiting: _Optional[int] = ..., waiting_since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class EditCheckpointRequest(_message.Message):
    __slots__ = ("checkpoint", "metadata")
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    checkpoint: str
    metadata: _struct_pb2.Struct
    def __init__(self, checkpoint: _Optional[str] = ..., metadata: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class EditExperimentRequest(_message.Message):
    __slots__ = ("experiment", "priority", "weight", "max_slots", "no_max_slots", "max_trials", "no_max_trials", "pool")
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    MAX_SLOTS_FIELD_NUMBER: _ClassVar[int]
    NO_MAX_SLOTS_FIELD_NUMBER: _ClassVar[int]
    MAX_TRIALS_FIELD_NUMBER: _ClassVar[int]
    NO_MAX_TRIALS_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    experiment: str
    priority: int
    weight: float
    max_slots: int
    no_max_slots: bool
    max_trials: int
    no_max_trials: bool
    pool: str
    def __init__(self, experiment: _Optional[str] = ..., priority: _Optional[int] = ..., weight: _Optional[float] = ..., max_slots: _Optional[int] = ..., no_max_slots: _Optional[bool] = ..., max_trials: _Optional[int] = ..., no_max_trials: _Optional[bool] = ..., pool: _Optional[str] = ...) -> None: ...

class EditModelRequest(_message.Message):
    __slots__ = ("model", "description", "notes", "add_tags", "remove_tags", "metadata", "approvals", "expected_version")
    class ApprovalsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    MODEL_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    ADD_TAGS_FIELD_NUMBER: _ClassVar[int]
    REMOVE_TAGS_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    APPROVALS_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    model: str
    description: str
    notes: str
    add_tags: _containers.RepeatedScalarFieldContainer[str]
    remove_tags: _containers.RepeatedScalarFieldContainer[str]
    metadata: _struct_pb2.Struct
    approvals: _containers.ScalarMap[str, int]
    expected_version: int
    def __init__(self, model: _Optional[str] = ..., description: _Optional[str] = ..., notes: _Optional[str] = ..., add_tags: _Optional[_Iterable[str]] = ..., remove_tags: _Optional[_Iterable[str]] = ..., metadata: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., approvals: _Optional[_Mapping[str, int]] = ..., expected_version: _Optional[int] = ...) -> None: ...

class EditModelVersionRequest(_message.Message):
    __slots__ = ("model", "version", "comment", "notes", "add_tags", "remove_tags", "expected_version")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    COMMENT_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    ADD_TAGS_FIELD_NUMBER: _ClassVar[int]
    REMOVE_TAGS_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    model: str
    version: str
    comment: str
    notes: str
    add_tags: _containers.RepeatedScalarFieldContainer[str]
    remove_tags: _containers.RepeatedScalarFieldContainer[str]
    expected_version: int
    def __init__(self, model: _Optional[str] = ..., version: _Optional[str] = ..., comment: _Optional[str] = ..., notes: _Optional[str] = ..., add_tags: _Optional[_Iterable[str]] = ..., remove_tags: _Optional[_Iterable[str]] = ..., expected_version: _Optional[int] = ...) -> None: ...

class EditPoolRequest(_message.Message):
    __slots__ = ("pool", "order", "preemption", "elastic", "default_priority", "ageing_s", "no_ageing", "half_life_s", "min_run_s", "max_preemptions", "topology", "no_topology", "placement", "no_max_preemptions", "quantum_s", "no_quantum", "defragment", "trusted", "tenant")
    POOL_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    PREEMPTION_FIELD_NUMBER: _ClassVar[int]
    ELASTIC_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_PRIORITY_FIELD_NUMBER: _ClassVar[int]
    AGEING_S_FIELD_NUMBER: _ClassVar[int]
    NO_AGEING_FIELD_NUMBER: _ClassVar[int]
    HALF_LIFE_S_FIELD_NUMBER: _ClassVar[int]
    MIN_RUN_S_FIELD_NUMBER: _ClassVar[int]
    MAX_PREEMPTIONS_FIELD_NUMBER: _ClassVar[int]
    TOPOLOGY_FIELD_NUMBER: _ClassVar[int]
    NO_TOPOLOGY_FIELD_NUMBER: _ClassVar[int]
    PLACEMENT_FIELD_NUMBER: _ClassVar[int]
    NO_MAX_PREEMPTIONS_FIELD_NUMBER: _ClassVar[int]
    QUANTUM_S_FIELD_NUMBER: _ClassVar[int]
    NO_QUANTUM_FIELD_NUMBER: _ClassVar[int]
    DEFRAGMENT_FIELD_NUMBER: _ClassVar[int]
    TRUSTED_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    pool: str
    order: PoolOrder
    preemption: bool
    elastic: bool
    default_priority: int
    ageing_s: float
    no_ageing: bool
    half_life_s: float
    min_run_s: float
    max_preemptions: int
    topology: _containers.RepeatedScalarFieldContainer[str]
    no_topology: bool
    placement: PoolPlacement
    no_max_preemptions: bool
    quantum_s: float
    no_quantum: bool
    defragment: bool
    trusted: bool
    tenant: str
    def __init__(self, pool: _Optional[str] = ..., order: _Optional[_Union[PoolOrder, str]] = ..., preemption: _Optional[bool] = ..., elastic: _Optional[bool] = ..., default_priority: _Optional[int] = ..., ageing_s: _Optional[float] = ..., no_ageing: _Optional[bool] = ..., half_life_s: _Optional[float] = ..., min_run_s: _Optional[float] = ..., max_preemptions: _Optional[int] = ..., topology: _Optional[_Iterable[str]] = ..., no_topology: _Optional[bool] = ..., placement: _Optional[_Union[PoolPlacement, str]] = ..., no_max_preemptions: _Optional[bool] = ..., quantum_s: _Optional[float] = ..., no_quantum: _Optional[bool] = ..., defragment: _Optional[bool] = ..., trusted: _Optional[bool] = ..., tenant: _Optional[str] = ...) -> None: ...

class EditRoleRequest(_message.Message):
    __slots__ = ("role", "description", "permissions")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    PERMISSIONS_FIELD_NUMBER: _ClassVar[int]
    role: str
    description: str
    permissions: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, role: _Optional[str] = ..., description: _Optional[str] = ..., permissions: _Optional[_Iterable[str]] = ...) -> None: ...

class EditSearchRequest(_message.Message):
    __slots__ = ("experiment", "max_trials", "max_concurrent_trials", "slot_hours", "no_slot_hours", "cost", "no_cost", "deadline", "no_deadline")
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    MAX_TRIALS_FIELD_NUMBER: _ClassVar[int]
    MAX_CONCURRENT_TRIALS_FIELD_NUMBER: _ClassVar[int]
    SLOT_HOURS_FIELD_NUMBER: _ClassVar[int]
    NO_SLOT_HOURS_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    NO_COST_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_FIELD_NUMBER: _ClassVar[int]
    NO_DEADLINE_FIELD_NUMBER: _ClassVar[int]
    experiment: str
    max_trials: int
    max_concurrent_trials: int
    slot_hours: float
    no_slot_hours: bool
    cost: float
    no_cost: bool
    deadline: _timestamp_pb2.Timestamp
    no_deadline: bool
    def __init__(self, experiment: _Optional[str] = ..., max_trials: _Optional[int] = ..., max_concurrent_trials: _Optional[int] = ..., slot_hours: _Optional[float] = ..., no_slot_hours: _Optional[bool] = ..., cost: _Optional[float] = ..., no_cost: _Optional[bool] = ..., deadline: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., no_deadline: _Optional[bool] = ...) -> None: ...

class EditTemplateRequest(_message.Message):
    __slots__ = ("template", "description", "config")
    TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    template: str
    description: str
    config: _struct_pb2.Struct
    def __init__(self, template: _Optional[str] = ..., description: _Optional[str] = ..., config: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class EditUserRequest(_message.Message):
    __slots__ = ("user", "display_name", "disabled")
    USER_FIELD_NUMBER: _ClassVar[int]
    DISPLAY_NAME_FIELD_NUMBER: _ClassVar[int]
    DISABLED_FIELD_NUMBER: _ClassVar[int]
    user: str
    display_name: str
    disabled: bool
    def __init__(self, user: _Optional[str] = ..., display_name: _Optional[str] = ..., disabled: _Optional[bool] = ...) -> None: ...

class EditWebhookRequest(_message.Message):
    __slots__ = ("webhook", "name", "url", "form", "events", "labels", "lifted", "enabled")
    WEBHOOK_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    FORM_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    LIFTED_FIELD_NUMBER: _ClassVar[int]
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    webhook: str
    name: str
    url: str
    form: WebhookForm
    events: _containers.RepeatedScalarFieldContainer[str]
    labels: _containers.RepeatedScalarFieldContainer[str]
    lifted: _containers.RepeatedScalarFieldContainer[WebhookFilter]
    enabled: bool
    def __init__(self, webhook: _Optional[str] = ..., name: _Optional[str] = ..., url: _Optional[str] = ..., form: _Optional[_Union[WebhookForm, str]] = ..., events: _Optional[_Iterable[str]] = ..., labels: _Optional[_Iterable[str]] = ..., lifted: _Optional[_Iterable[_Union[WebhookFilter, str]]] = ..., enabled: _Optional[bool] = ...) -> None: ...

class Empty(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Event(_message.Message):
    __slots__ = ("id", "time", "kind", "change", "entity", "experiment", "version", "resource")
    ID_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    CHANGE_FIELD_NUMBER: _ClassVar[int]
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    id: str
    time: _timestamp_pb2.Timestamp
    kind: EventKind
    change: str
    entity: str
    experiment: str
    version: int
    resource: _struct_pb2.Struct
    def __init__(self, id: _Optional[str] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., kind: _Optional[_Union[EventKind, str]] = ..., change: _Optional[str] = ..., entity: _Optional[str] = ..., experiment: _Optional[str] = ..., version: _Optional[int] = ..., resource: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class ExpectedStart(_message.Message):
    __slots__ = ("earliest", "expected", "latest", "runs")
    EARLIEST_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_FIELD_NUMBER: _ClassVar[int]
    LATEST_FIELD_NUMBER: _ClassVar[int]
    RUNS_FIELD_NUMBER: _ClassVar[int]
    earliest: _timestamp_pb2.Timestamp
    expected: _timestamp_pb2.Timestamp
    latest: _timestamp_pb2.Timestamp
    runs: int
    def __init__(self, earliest: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expected: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., latest: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., runs: _Optional[int] = ...) -> None: ...

class Experiment(_message.Message):
    __slots__ = ("id", "number", "name", "description", "workspace", "project", "labels", "owner", "state", "reason", "progress", "searcher", "metric", "smaller_is_better", "best", "trials", "priority", "code_sha256", "forked_from", "archived", "deleting", "final", "created_at", "started_at", "ended_at", "version", "hyperparameters")
    ID_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    SEARCHER_FIELD_NUMBER: _ClassVar[int]
    METRIC_FIELD_NUMBER: _ClassVar[int]
    SMALLER_IS_BETTER_FIELD_NUMBER: _ClassVar[int]
    BEST_FIELD_NUMBER: _ClassVar[int]
    TRIALS_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    CODE_SHA256_FIELD_NUMBER: _ClassVar[int]
    FORKED_FROM_FIELD_NUMBER: _ClassVar[int]
    ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    DELETING_FIELD_NUMBER: _ClassVar[int]
    FINAL_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    HYPERPARAMETERS_FIELD_NUMBER: _ClassVar[int]
    id: str
    number: int
    name: str
    description: str
    workspace: str
    project: str
    labels: _containers.RepeatedScalarFieldContainer[str]
    owner: str
    state: ExperimentState
    reason: str
    progress: float
    searcher: str
    metric: str
    smaller_is_better: bool
    best: Best
    trials: ExperimentTrialCounts
    priority: int
    code_sha256: str
    forked_from: str
    archived: bool
    deleting: bool
    final: bool
    created_at: _timestamp_pb2.Timestamp
    started_at: _timestamp_pb2.Timestamp
    ended_at: _timestamp_pb2.Timestamp
    version: int
    hyperparameters: _struct_pb2.Struct
    def __init__(self, id: _Optional[str] = ..., number: _Optional[int] = ..., name: _Optional[str] = ..., description: _Optional[str] = ..., workspace: _Optional[str] = ..., project: _Optional[str] = ..., labels: _Optional[_Iterable[str]] = ..., owner: _Optional[str] = ..., state: _Optional[_Union[ExperimentState, str]] = ..., reason: _Optional[str] = ..., progress: _Optional[float] = ..., searcher: _Optional[str] = ..., metric: _Optional[str] = ..., smaller_is_better: _Optional[bool] = ..., best: _Optional[_Union[Best, _Mapping]] = ..., trials: _Optional[_Union[ExperimentTrialCounts, _Mapping]] = ..., priority: _Optional[int] = ..., code_sha256: _Optional[str] = ..., forked_from: _Optional[str] = ..., archived: _Optional[bool] = ..., deleting: _Optional[bool] = ..., final: _Optional[bool] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ended_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., version: _Optional[int] = ..., hyperparameters: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class ExperimentBudget(_message.Message):
    __slots__ = ("slot_hours", "cost", "deadline", "used_slot_hours", "used_cost")
    SLOT_HOURS_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_FIELD_NUMBER: _ClassVar[int]
    USED_SLOT_HOURS_FIELD_NUMBER: _ClassVar[int]
    USED_COST_FIELD_NUMBER: _ClassVar[int]
    slot_hours: float
    cost: float
    deadline: _timestamp_pb2.Timestamp
    used_slot_hours: float
    used_cost: float
    def __init__(self, slot_hours: _Optional[float] = ..., cost: _Optional[float] = ..., deadline: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., used_slot_hours: _Optional[float] = ..., used_cost: _Optional[float] = ...) -> None: ...

class ExperimentCode(_message.Message):
    __slots__ = ("sha256", "size_bytes", "unpacked_bytes", "files")
    SHA256_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    UNPACKED_BYTES_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    sha256: str
    size_bytes: int
    unpacked_bytes: int
    files: _containers.RepeatedCompositeFieldContainer[CodeFile]
    def __init__(self, sha256: _Optional[str] = ..., size_bytes: _Optional[int] = ..., unpacked_bytes: _Optional[int] = ..., files: _Optional[_Iterable[_Union[CodeFile, _Mapping]]] = ...) -> None: ...

class ExperimentDetail(_message.Message):
    __slots__ = ("id", "number", "name", "description", "workspace", "project", "labels", "owner", "state", "reason", "progress", "searcher", "metric", "smaller_is_better", "best", "trials", "priority", "code_sha256", "forked_from", "archived", "deleting", "final", "created_at", "started_at", "ended_at", "version", "hyperparameters", "config", "config_yaml", "trace_id", "warnings", "weight", "max_slots", "max_trials", "pool", "max_concurrent_trials", "budget", "waiting")
    ID_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    SEARCHER_FIELD_NUMBER: _ClassVar[int]
    METRIC_FIELD_NUMBER: _ClassVar[int]
    SMALLER_IS_BETTER_FIELD_NUMBER: _ClassVar[int]
    BEST_FIELD_NUMBER: _ClassVar[int]
    TRIALS_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    CODE_SHA256_FIELD_NUMBER: _ClassVar[int]
    FORKED_FROM_FIELD_NUMBER: _ClassVar[int]
    ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    DELETING_FIELD_NUMBER: _ClassVar[int]
    FINAL_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    HYPERPARAMETERS_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    CONFIG_YAML_FIELD_NUMBER: _ClassVar[int]
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    MAX_SLOTS_FIELD_NUMBER: _ClassVar[int]
    MAX_TRIALS_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    MAX_CONCURRENT_TRIALS_FIELD_NUMBER: _ClassVar[int]
    BUDGET_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    id: str
    number: int
    name: str
    description: str
    workspace: str
    project: str
    labels: _containers.RepeatedScalarFieldContainer[str]
    owner: str
    state: ExperimentState
    reason: str
    progress: float
    searcher: str
    metric: str
    smaller_is_better: bool
    best: Best
    trials: ExperimentTrialCounts
    priority: int
    code_sha256: str
    forked_from: str
    archived: bool
    deleting: bool
    final: bool
    created_at: _timestamp_pb2.Timestamp
    started_at: _timestamp_pb2.Timestamp
    ended_at: _timestamp_pb2.Timestamp
    version: int
    hyperparameters: _struct_pb2.Struct
    config: _struct_pb2.Struct
    config_yaml: str
    trace_id: str
    warnings: _containers.RepeatedScalarFieldContainer[str]
    weight: float
    max_slots: int
    max_trials: int
    pool: str
    max_concurrent_trials: int
    budget: ExperimentBudget
    waiting: str
    def __init__(self, id: _Optional[str] = ..., number: _Optional[int] = ..., name: _Optional[str] = ..., description: _Optional[str] = ..., workspace: _Optional[str] = ..., project: _Optional[str] = ..., labels: _Optional[_Iterable[str]] = ..., owner: _Optional[str] = ..., state: _Optional[_Union[ExperimentState, str]] = ..., reason: _Optional[str] = ..., progress: _Optional[float] = ..., searcher: _Optional[str] = ..., metric: _Optional[str] = ..., smaller_is_better: _Optional[bool] = ..., best: _Optional[_Union[Best, _Mapping]] = ..., trials: _Optional[_Union[ExperimentTrialCounts, _Mapping]] = ..., priority: _Optional[int] = ..., code_sha256: _Optional[str] = ..., forked_from: _Optional[str] = ..., archived: _Optional[bool] = ..., deleting: _Optional[bool] = ..., final: _Optional[bool] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ended_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., version: _Optional[int] = ..., hyperparameters: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., config: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., config_yaml: _Optional[str] = ..., trace_id: _Optional[str] = ..., warnings: _Optional[_Iterable[str]] = ..., weight: _Optional[float] = ..., max_slots: _Optional[int] = ..., max_trials: _Optional[int] = ..., pool: _Optional[str] = ..., max_concurrent_trials: _Optional[int] = ..., budget: _Optional[_Union[ExperimentBudget, _Mapping]] = ..., waiting: _Optional[str] = ...) -> None: ...

class ExperimentGroup(_message.Message):
    __slots__ = ("value", "count", "states")
    class StatesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    VALUE_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    value: str
    count: int
    states: _containers.ScalarMap[str, int]
    def __init__(self, value: _Optional[str] = ..., count: _Optional[int] = ..., states: _Optional[_Mapping[str, int]] = ...) -> None: ...

class ExperimentGroupPage(_message.Message):
    __slots__ = ("items", "next_cursor")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[ExperimentGroup]
    next_cursor: str
    def __init__(self, items: _Optional[_Iterable[_Union[ExperimentGroup, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class ExperimentMetrics(_message.Message):
    __slots__ = ("trials",)
    TRIALS_FIELD_NUMBER: _ClassVar[int]
    trials: _containers.RepeatedCompositeFieldContainer[TrialMetrics]
    def __init__(self, trials: _Optional[_Iterable[_Union[TrialMetrics, _Mapping]]] = ...) -> None: ...

class ExperimentMetricsRequest(_message.Message):
    __slots__ = ("experiment", "trial", "name", "group", "max_points", "first_step", "last_step")
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    TRIAL_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    MAX_POINTS_FIELD_NUMBER: _ClassVar[int]
    FIRST_STEP_FIELD_NUMBER: _ClassVar[int]
    LAST_STEP_FIELD_NUMBER: _ClassVar[int]
    experiment: str
    trial: _containers.RepeatedScalarFieldContainer[str]
    name: _containers.RepeatedScalarFieldContainer[str]
    group: str
    max_points: int
    first_step: int
    last_step: int
    def __init__(self, experiment: _Optional[str] = ..., trial: _Optional[_Iterable[str]] = ..., name: _Optional[_Iterable[str]] = ..., group: _Optional[str] = ..., max_points: _Optional[int] = ..., first_step: _Optional[int] = ..., last_step: _Optional[int] = ...) -> None: ...

class ExperimentPage(_message.Message):
    __slots__ = ("items", "next_cursor")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Experiment]
    next_cursor: str
    def __init__(self, items: _Optional[_Iterable[_Union[Experiment, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class ExperimentRequest(_message.Message):
    __slots__ = ("experiment",)
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    experiment: str
    def __init__(self, experiment: _Optional[str] = ...) -> None: ...

class ExperimentSelection(_message.Message):
    __slots__ = ("count", "sample", "selection", "expires_at")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_FIELD_NUMBER: _ClassVar[int]
    SELECTION_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    count: int
    sample: _containers.RepeatedCompositeFieldContainer[Experiment]
    selection: str
    expires_at: _timestamp_pb2.Timestamp
    def __init__(self, count: _Optional[int] = ..., sample: _Optional[_Iterable[_Union[Experiment, _Mapping]]] = ..., selection: _Optional[str] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ExperimentTrialCounts(_message.Message):
    __slots__ = ("queued", "running", "parked", "stopping", "completed", "stopped", "error", "cancelled", "invalid", "planned", "finishing")
    QUEUED_FIELD_NUMBER: _ClassVar[int]
    RUNNING_FIELD_NUMBER: _ClassVar[int]
    PARKED_FIELD_NUMBER: _ClassVar[int]
    STOPPING_FIELD_NUMBER: _ClassVar[int]
    COMPLETED_FIELD_NUMBER: _ClassVar[int]
    STOPPED_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    CANCELLED_FIELD_NUMBER: _ClassVar[int]
    INVALID_FIELD_NUMBER: _ClassVar[int]
    PLANNED_FIELD_NUMBER: _ClassVar[int]
    FINISHING_FIELD_NUMBER: _ClassVar[int]
    queued: int
    running: int
    parked: int
    stopping: int
    completed: int
    stopped: int
    error: int
    cancelled: int
    invalid: int
    planned: int
    finishing: int
    def __init__(self, queued: _Optional[int] = ..., running: _Optional[int] = ..., parked: _Optional[int] = ..., stopping: _Optional[int] = ..., completed: _Optional[int] = ..., stopped: _Optional[int] = ..., error: _Optional[int] = ..., cancelled: _Optional[int] = ..., invalid: _Optional[int] = ..., planned: _Optional[int] = ..., finishing: _Optional[int] = ...) -> None: ...

class Explanation(_message.Message):
    __slots__ = ("trial", "state", "code", "message", "facts", "position", "holders", "own_runs", "own_slots", "other_runs", "other_slots", "preemption", "suggestions", "expected_start")
    TRIAL_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    FACTS_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    HOLDERS_FIELD_NUMBER: _ClassVar[int]
    OWN_RUNS_FIELD_NUMBER: _ClassVar[int]
    OWN_SLOTS_FIELD_NUMBER: _ClassVar[int]
    OTHER_RUNS_FIELD_NUMBER: _ClassVar[int]
    OTHER_SLOTS_FIELD_NUMBER: _ClassVar[int]
    PREEMPTION_FIELD_NUMBER: _ClassVar[int]
    SUGGESTIONS_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_START_FIELD_NUMBER: _ClassVar[int]
    trial: str
    state: str
    code: str
    message: str
    facts: _struct_pb2.Struct
    position: int
    holders: _containers.RepeatedCompositeFieldContainer[Holder]
    own_runs: int
    own_slots: int
    other_runs: int
    other_slots: int
    preemption: Preemption
    suggestions: _containers.RepeatedCompositeFieldContainer[StartSuggestion]
    expected_start: ExpectedStart
    def __init__(self, trial: _Optional[str] = ..., state: _Optional[str] = ..., code: _Optional[str] = ..., message: _Optional[str] = ..., facts: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., position: _Optional[int] = ..., holders: _Optional[_Iterable[_Union[Holder, _Mapping]]] = ..., own_runs: _Optional[int] = ..., own_slots: _Optional[int] = ..., other_runs: _Optional[int] = ..., other_slots: _Optional[int] = ..., preemption: _Optional[_Union[Preemption, _Mapping]] = ..., suggestions: _Optional[_Iterable[_Union[StartSuggestion, _Mapping]]] = ..., expected_start: _Optional[_Union[ExpectedStart, _Mapping]] = ...) -> None: ...

class Export(_message.Message):
    __slots__ = ("id", "ready", "rows", "files", "next_cursor")
    ID_FIELD_NUMBER: _ClassVar[int]
    READY_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    id: str
    ready: bool
    rows: int
    files: _containers.RepeatedCompositeFieldContainer[FileDownload]
    next_cursor: str
    def __init__(self, id: _Optional[str] = ..., ready: _Optional[bool] = ..., rows: _Optional[int] = ..., files: _Optional[_Iterable[_Union[FileDownload, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class ExportAuditRequest(_message.Message):
    __slots__ = ("since", "until", "after")
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    since: _timestamp_pb2.Timestamp
    until: _timestamp_pb2.Timestamp
    after: int
    def __init__(self, since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., after: _Optional[int] = ...) -> None: ...

class ExportMetricsRequest(_message.Message):
    __slots__ = ("experiment", "format", "export", "cursor", "group", "name")
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    EXPORT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    experiment: str
    format: ExportFormat
    export: str
    cursor: str
    group: str
    name: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, experiment: _Optional[str] = ..., format: _Optional[_Union[ExportFormat, str]] = ..., export: _Optional[str] = ..., cursor: _Optional[str] = ..., group: _Optional[str] = ..., name: _Optional[_Iterable[str]] = ...) -> None: ...

class ExportTableRequest(_message.Message):
    __slots__ = ("experiment", "format", "export", "cursor", "filter", "sort", "column")
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    EXPORT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    SORT_FIELD_NUMBER: _ClassVar[int]
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    experiment: str
    format: ExportFormat
    export: str
    cursor: str
    filter: str
    sort: str
    column: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, experiment: _Optional[str] = ..., format: _Optional[_Union[ExportFormat, str]] = ..., export: _Optional[str] = ..., cursor: _Optional[str] = ..., filter: _Optional[str] = ..., sort: _Optional[str] = ..., column: _Optional[_Iterable[str]] = ...) -> None: ...

class FileDownload(_message.Message):
    __slots__ = ("path", "size_bytes", "sha256", "url")
    PATH_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    path: str
    size_bytes: int
    sha256: str
    url: str
    def __init__(self, path: _Optional[str] = ..., size_bytes: _Optional[int] = ..., sha256: _Optional[str] = ..., url: _Optional[str] = ...) -> None: ...

class FinishSignInRequest(_message.Message):
    __slots__ = ("ticket", "state", "code", "iss")
    TICKET_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    ISS_FIELD_NUMBER: _ClassVar[int]
    ticket: str
    state: str
    code: str
    iss: str
    def __init__(self, ticket: _Optional[str] = ..., state: _Optional[str] = ..., code: _Optional[str] = ..., iss: _Optional[str] = ...) -> None: ...

class FollowExperimentLogsRequest(_message.Message):
    __slots__ = ("rank", "contains", "stream", "pattern", "level", "since", "until", "tail", "experiment", "after")
    RANK_FIELD_NUMBER: _ClassVar[int]
    CONTAINS_FIELD_NUMBER: _ClassVar[int]
    STREAM_FIELD_NUMBER: _ClassVar[int]
    PATTERN_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    TAIL_FIELD_NUMBER: _ClassVar[int]
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    rank: int
    contains: str
    stream: LogStream
    pattern: str
    level: LogLevel
    since: _timestamp_pb2.Timestamp
    until: _timestamp_pb2.Timestamp
    tail: int
    experiment: str
    after: str
    def __init__(self, rank: _Optional[int] = ..., contains: _Optional[str] = ..., stream: _Optional[_Union[LogStream, str]] = ..., pattern: _Optional[str] = ..., level: _Optional[_Union[LogLevel, str]] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., tail: _Optional[int] = ..., experiment: _Optional[str] = ..., after: _Optional[str] = ...) -> None: ...

class FollowExperimentMetricsRequest(_message.Message):
    __slots__ = ("experiment", "name", "group", "after", "from_now", "without_cursors")
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    FROM_NOW_FIELD_NUMBER: _ClassVar[int]
    WITHOUT_CURSORS_FIELD_NUMBER: _ClassVar[int]
    experiment: str
    name: _containers.RepeatedScalarFieldContainer[str]
    group: str
    after: str
    from_now: bool
    without_cursors: bool
    def __init__(self, experiment: _Optional[str] = ..., name: _Optional[_Iterable[str]] = ..., group: _Optional[str] = ..., after: _Optional[str] = ..., from_now: _Optional[bool] = ..., without_cursors: _Optional[bool] = ...) -> None: ...

class FollowTrialLogsRequest(_message.Message):
    __slots__ = ("rank", "contains", "stream", "pattern", "level", "since", "until", "tail", "trial", "after")
    RANK_FIELD_NUMBER: _ClassVar[int]
    CONTAINS_FIELD_NUMBER: _ClassVar[int]
    STREAM_FIELD_NUMBER: _ClassVar[int]
    PATTERN_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    TAIL_FIELD_NUMBER: _ClassVar[int]
    TRIAL_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    rank: int
    contains: str
    stream: LogStream
    pattern: str
    level: LogLevel
    since: _timestamp_pb2.Timestamp
    until: _timestamp_pb2.Timestamp
    tail: int
    trial: str
    after: str
    def __init__(self, rank: _Optional[int] = ..., contains: _Optional[str] = ..., stream: _Optional[_Union[LogStream, str]] = ..., pattern: _Optional[str] = ..., level: _Optional[_Union[LogLevel, str]] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., tail: _Optional[int] = ..., trial: _Optional[str] = ..., after: _Optional[str] = ...) -> None: ...

class FollowTrialMetricsRequest(_message.Message):
    __slots__ = ("trial", "name", "group", "after", "from_now")
    TRIAL_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    FROM_NOW_FIELD_NUMBER: _ClassVar[int]
    trial: str
    name: _containers.RepeatedScalarFieldContainer[str]
    group: str
    after: str
    from_now: bool
    def __init__(self, trial: _Optional[str] = ..., name: _Optional[_Iterable[str]] = ..., group: _Optional[str] = ..., after: _Optional[str] = ..., from_now: _Optional[bool] = ...) -> None: ...

class ForkExperimentRequest(_message.Message):
    __slots__ = ("experiment", "overrides", "name", "labels")
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    OVERRIDES_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    experiment: str
    overrides: _struct_pb2.Struct
    name: str
    labels: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, experiment: _Optional[str] = ..., overrides: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., name: _Optional[str] = ..., labels: _Optional[_Iterable[str]] = ...) -> None: ...

class FrontPage(_message.Message):
    __slots__ = ("items", "total", "admissible", "next_cursor")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    ADMISSIBLE_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[FrontTrial]
    total: int
    admissible: int
    next_cursor: str
    def __init__(self, items: _Optional[_Iterable[_Union[FrontTrial, _Mapping]]] = ..., total: _Optional[int] = ..., admissible: _Optional[int] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class FrontTrial(_message.Message):
    __slots__ = ("trial", "trial_number", "state", "step", "metrics", "hyperparameters")
    class MetricsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    TRIAL_FIELD_NUMBER: _ClassVar[int]
    TRIAL_NUMBER_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    METRICS_FIELD_NUMBER: _ClassVar[int]
    HYPERPARAMETERS_FIELD_NUMBER: _ClassVar[int]
    trial: str
    trial_number: int
    state: TrialState
    step: int
    metrics: _containers.ScalarMap[str, float]
    hyperparameters: _struct_pb2.Struct
    def __init__(self, trial: _Optional[str] = ..., trial_number: _Optional[int] = ..., state: _Optional[_Union[TrialState, str]] = ..., step: _Optional[int] = ..., metrics: _Optional[_Mapping[str, float]] = ..., hyperparameters: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class GetLineageRequest(_message.Message):
    __slots__ = ("kind", "id")
    KIND_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    kind: LineageKind
    id: str
    def __init__(self, kind: _Optional[_Union[LineageKind, str]] = ..., id: _Optional[str] = ...) -> None: ...

class GrantRoleRequest(_message.Message):
    __slots__ = ("role", "user", "group", "workspace", "project")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    role: str
    user: str
    group: str
    workspace: str
    project: str
    def __init__(self, role: _Optional[str] = ..., user: _Optional[str] = ..., group: _Optional[str] = ..., workspace: _Optional[str] = ..., project: _Optional[str] = ...) -> None: ...

class Group(_message.Message):
    __slots__ = ("id", "name", "description", "members", "created_at")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    description: str
    members: int
    created_at: _timestamp_pb2.Timestamp
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., description: _Optional[str] = ..., members: _Optional[int] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class GroupMemberRequest(_message.Message):
    __slots__ = ("group", "user")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    group: str
    user: str
    def __init__(self, group: _Optional[str] = ..., user: _Optional[str] = ...) -> None: ...

class GroupPage(_message.Message):
    __slots__ = ("items", "next_cursor")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Group]
    next_cursor: str
    def __init__(self, items: _Optional[_Iterable[_Union[Group, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class GroupRequest(_message.Message):
    __slots__ = ("group",)
    GROUP_FIELD_NUMBER: _ClassVar[int]
    group: str
    def __init__(self, group: _Optional[str] = ...) -> None: ...

class Health(_message.Message):
    __slots__ = ("status", "version")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    status: str
    version: str
    def __init__(self, status: _Optional[str] = ..., version: _Optional[str] = ...) -> None: ...

class HeldRole(_message.Message):
    __slots__ = ("role", "workspace", "project")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    role: str
    workspace: str
    project: str
    def __init__(self, role: _Optional[str] = ..., workspace: _Optional[str] = ..., project: _Optional[str] = ...) -> None: ...

class HeldSlots(_message.Message):
    __slots__ = ("worker", "slots")
    WORKER_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    worker: str
    slots: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, worker: _Optional[str] = ..., slots: _Optional[_Iterable[int]] = ...) -> None: ...

class Holder(_message.Message):
    __slots__ = ("experiment_number", "trial_number", "slots", "slot_fraction", "since", "leaving")
    EXPERIMENT_NUMBER_FIELD_NUMBER: _ClassVar[int]
    TRIAL_NUMBER_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    SLOT_FRACTION_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    LEAVING_FIELD_NUMBER: _ClassVar[int]
    experiment_number: int
    trial_number: int
    slots: int
    slot_fraction: float
    since: _timestamp_pb2.Timestamp
    leaving: bool
    def __init__(self, experiment_number: _Optional[int] = ..., trial_number: _Optional[int] = ..., slots: _Optional[int] = ..., slot_fraction: _Optional[float] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., leaving: _Optional[bool] = ...) -> None: ...

class Identity(_message.Message):
    __slots__ = ("id", "issuer", "subject", "created_at")
    ID_FIELD_NUMBER: _ClassVar[int]
    ISSUER_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    id: str
    issuer: str
    subject: str
    created_at: _timestamp_pb2.Timestamp
    def __init__(self, id: _Optional[str] = ..., issuer: _Optional[str] = ..., subject: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class IdentityList(_message.Message):
    __slots__ = ("items", "next_cursor")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Identity]
    next_cursor: str
    def __init__(self, items: _Optional[_Iterable[_Union[Identity, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class IdentityRequest(_message.Message):
    __slots__ = ("user", "identity")
    USER_FIELD_NUMBER: _ClassVar[int]
    IDENTITY_FIELD_NUMBER: _ClassVar[int]
    user: str
    identity: str
    def __init__(self, user: _Optional[str] = ..., identity: _Optional[str] = ...) -> None: ...

class InstancePage(_message.Message):
    __slots__ = ("items", "next_cursor")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[InstanceRecord]
    next_cursor: str
    def __init__(self, items: _Optional[_Iterable[_Union[InstanceRecord, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class InstanceRecord(_message.Message):
    __slots__ = ("id", "pool", "worker", "driver", "state", "slots", "reason", "price_per_hour", "launched_at", "ended_at", "kind", "zone", "purchase", "since", "cost")
    ID_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    DRIVER_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    PRICE_PER_HOUR_FIELD_NUMBER: _ClassVar[int]
    LAUNCHED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    ZONE_FIELD_NUMBER: _ClassVar[int]
    PURCHASE_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    id: str
    pool: str
    worker: str
    driver: str
    state: str
    slots: int
    reason: str
    price_per_hour: float
    launched_at: _timestamp_pb2.Timestamp
    ended_at: _timestamp_pb2.Timestamp
    kind: str
    zone: str
    purchase: Purchase
    since: _timestamp_pb2.Timestamp
    cost: float
    def __init__(self, id: _Optional[str] = ..., pool: _Optional[str] = ..., worker: _Optional[str] = ..., driver: _Optional[str] = ..., state: _Optional[str] = ..., slots: _Optional[int] = ..., reason: _Optional[str] = ..., price_per_hour: _Optional[float] = ..., launched_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ended_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., kind: _Optional[str] = ..., zone: _Optional[str] = ..., purchase: _Optional[_Union[Purchase, str]] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., cost: _Optional[float] = ...) -> None: ...

class InstanceRequest(_message.Message):
    __slots__ = ("instance",)
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    instance: str
    def __init__(self, instance: _Optional[str] = ...) -> None: ...

class IssueJoinTokenRequest(_message.Message):
    __slots__ = ("pool", "worker", "ttl_s")
    POOL_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    TTL_S_FIELD_NUMBER: _ClassVar[int]
    pool: str
    worker: str
    ttl_s: int
    def __init__(self, pool: _Optional[str] = ..., worker: _Optional[str] = ..., ttl_s: _Optional[int] = ...) -> None: ...

class JoinToken(_message.Message):
    __slots__ = ("token", "pool", "expires_at")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    token: str
    pool: str
    expires_at: _timestamp_pb2.Timestamp
    def __init__(self, token: _Optional[str] = ..., pool: _Optional[str] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class JoinWorkerRequest(_message.Message):
    __slots__ = ("worker", "user_key", "pool", "address", "version", "trouble", "isolation", "isolation_detail", "identity_document", "identity_signature")
    WORKER_FIELD_NUMBER: _ClassVar[int]
    USER_KEY_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    TROUBLE_FIELD_NUMBER: _ClassVar[int]
    ISOLATION_FIELD_NUMBER: _ClassVar[int]
    ISOLATION_DETAIL_FIELD_NUMBER: _ClassVar[int]
    IDENTITY_DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    IDENTITY_SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    worker: str
    user_key: str
    pool: str
    address: str
    version: str
    trouble: str
    isolation: Isolation
    isolation_detail: str
    identity_document: str
    identity_signature: str
    def __init__(self, worker: _Optional[str] = ..., user_key: _Optional[str] = ..., pool: _Optional[str] = ..., address: _Optional[str] = ..., version: _Optional[str] = ..., trouble: _Optional[str] = ..., isolation: _Optional[_Union[Isolation, str]] = ..., isolation_detail: _Optional[str] = ..., identity_document: _Optional[str] = ..., identity_signature: _Optional[str] = ...) -> None: ...

class JournalEntry(_message.Message):
    __slots__ = ("position", "time", "kind", "facts")
    POSITION_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    FACTS_FIELD_NUMBER: _ClassVar[int]
    position: int
    time: _timestamp_pb2.Timestamp
    kind: str
    facts: _struct_pb2.Struct
    def __init__(self, position: _Optional[int] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., kind: _Optional[str] = ..., facts: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class JournalPage(_message.Message):
    __slots__ = ("items", "next_cursor")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[JournalEntry]
    next_cursor: str
    def __init__(self, items: _Optional[_Iterable[_Union[JournalEntry, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class LabelExperimentsRequest(_message.Message):
    __slots__ = ("experiments", "add", "remove")
    EXPERIMENTS_FIELD_NUMBER: _ClassVar[int]
    ADD_FIELD_NUMBER: _ClassVar[int]
    REMOVE_FIELD_NUMBER: _ClassVar[int]
    experiments: _containers.RepeatedScalarFieldContainer[str]
    add: _containers.RepeatedScalarFieldContainer[str]
    remove: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, experiments: _Optional[_Iterable[str]] = ..., add: _Optional[_Iterable[str]] = ..., remove: _Optional[_Iterable[str]] = ...) -> None: ...

class LabelledExperiments(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Experiment]
    def __init__(self, items: _Optional[_Iterable[_Union[Experiment, _Mapping]]] = ...) -> None: ...

class Limit(_message.Message):
    __slots__ = ("id", "pool", "tenant", "workspace", "guaranteed", "maximum", "weight", "warnings")
    ID_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    GUARANTEED_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    id: str
    pool: str
    tenant: str
    workspace: str
    guaranteed: int
    maximum: int
    weight: float
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, id: _Optional[str] = ..., pool: _Optional[str] = ..., tenant: _Optional[str] = ..., workspace: _Optional[str] = ..., guaranteed: _Optional[int] = ..., maximum: _Optional[int] = ..., weight: _Optional[float] = ..., warnings: _Optional[_Iterable[str]] = ...) -> None: ...

class LimitPage(_message.Message):
    __slots__ = ("items", "next_cursor")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Limit]
    next_cursor: str
    def __init__(self, items: _Optional[_Iterable[_Union[Limit, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class LineageEdge(_message.Message):
    __slots__ = ("source", "target", "kind")
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    source: str
    target: str
    kind: str
    def __init__(self, source: _Optional[str] = ..., target: _Optional[str] = ..., kind: _Optional[str] = ...) -> None: ...

class LineageGraph(_message.Message):
    __slots__ = ("start", "nodes", "edges", "truncated")
    START_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    EDGES_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    start: str
    nodes: _containers.RepeatedCompositeFieldContainer[LineageNode]
    edges: _containers.RepeatedCompositeFieldContainer[LineageEdge]
    truncated: bool
    def __init__(self, start: _Optional[str] = ..., nodes: _Optional[_Iterable[_Union[LineageNode, _Mapping]]] = ..., edges: _Optional[_Iterable[_Union[LineageEdge, _Mapping]]] = ..., truncated: _Optional[bool] = ...) -> None: ...

class LineageNode(_message.Message):
    __slots__ = ("id", "kind", "name", "facts")
    ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    FACTS_FIELD_NUMBER: _ClassVar[int]
    id: str
    kind: LineageKind
    name: str
    facts: _struct_pb2.Struct
    def __init__(self, id: _Optional[str] = ..., kind: _Optional[_Union[LineageKind, str]] = ..., name: _Optional[str] = ..., facts: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class LinkIdentityRequest(_message.Message):
    __slots__ = ("user", "provider", "subject")
    USER_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    user: str
    provider: str
    subject: str
    def __init__(self, user: _Optional[str] = ..., provider: _Optional[str] = ..., subject: _Optional[str] = ...) -> None: ...

class LinkSignInRequest(_message.Message):
    __slots__ = ("code",)
    CODE_FIELD_NUMBER: _ClassVar[int]
    code: str
    def __init__(self, code: _Optional[str] = ...) -> None: ...

class ListAuditRequest(_message.Message):
    __slots__ = ("limit", "cursor", "filter", "sort", "actor", "operation", "entity", "outcome", "since", "until")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    SORT_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    filter: str
    sort: str
    actor: str
    operation: str
    entity: str
    outcome: AuditOutcome
    since: _timestamp_pb2.Timestamp
    until: _timestamp_pb2.Timestamp
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ..., filter: _Optional[str] = ..., sort: _Optional[str] = ..., actor: _Optional[str] = ..., operation: _Optional[str] = ..., entity: _Optional[str] = ..., outcome: _Optional[_Union[AuditOutcome, str]] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ListCostSharesRequest(_message.Message):
    __slots__ = ("since", "until", "by")
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    since: str
    until: str
    by: _containers.RepeatedScalarFieldContainer[CostKey]
    def __init__(self, since: _Optional[str] = ..., until: _Optional[str] = ..., by: _Optional[_Iterable[_Union[CostKey, str]]] = ...) -> None: ...

class ListCostsRequest(_message.Message):
    __slots__ = ("since", "until")
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    since: str
    until: str
    def __init__(self, since: _Optional[str] = ..., until: _Optional[str] = ...) -> None: ...

class ListExperimentCheckpointsRequest(_message.Message):
    __slots__ = ("limit", "cursor", "filter", "sort", "experiment")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    SORT_FIELD_NUMBER: _ClassVar[int]
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    filter: str
    sort: str
    experiment: str
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ..., filter: _Optional[str] = ..., sort: _Optional[str] = ..., experiment: _Optional[str] = ...) -> None: ...

class ListExperimentGroupsRequest(_message.Message):
    __slots__ = ("limit", "cursor", "by", "filter", "archived")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    by: ExperimentGrouping
    filter: str
    archived: bool
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ..., by: _Optional[_Union[ExperimentGrouping, str]] = ..., filter: _Optional[str] = ..., archived: _Optional[bool] = ...) -> None: ...

class ListExperimentLogsRequest(_message.Message):
    __slots__ = ("rank", "contains", "stream", "pattern", "level", "since", "until", "limit", "cursor", "tail", "experiment")
    RANK_FIELD_NUMBER: _ClassVar[int]
    CONTAINS_FIELD_NUMBER: _ClassVar[int]
    STREAM_FIELD_NUMBER: _ClassVar[int]
    PATTERN_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    TAIL_FIELD_NUMBER: _ClassVar[int]
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    rank: int
    contains: str
    stream: LogStream
    pattern: str
    level: LogLevel
    since: _timestamp_pb2.Timestamp
    until: _timestamp_pb2.Timestamp
    limit: int
    cursor: str
    tail: int
    experiment: str
    def __init__(self, rank: _Optional[int] = ..., contains: _Optional[str] = ..., stream: _Optional[_Union[LogStream, str]] = ..., pattern: _Optional[str] = ..., level: _Optional[_Union[LogLevel, str]] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ..., tail: _Optional[int] = ..., experiment: _Optional[str] = ...) -> None: ...

class ListExperimentPhasesRequest(_message.Message):
    __slots__ = ("limit", "cursor", "experiment")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    experiment: str
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ..., experiment: _Optional[str] = ...) -> None: ...

class ListExperimentsRequest(_message.Message):
    __slots__ = ("limit", "cursor", "filter", "sort", "state", "label", "name_contains", "archived", "hyperparameters")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    SORT_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    NAME_CONTAINS_FIELD_NUMBER: _ClassVar[int]
    ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    HYPERPARAMETERS_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    filter: str
    sort: str
    state: _containers.RepeatedScalarFieldContainer[ExperimentState]
    label: _containers.RepeatedScalarFieldContainer[str]
    name_contains: str
    archived: bool
    hyperparameters: bool
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ..., filter: _Optional[str] = ..., sort: _Optional[str] = ..., state: _Optional[_Iterable[_Union[ExperimentState, str]]] = ..., label: _Optional[_Iterable[str]] = ..., name_contains: _Optional[str] = ..., archived: _Optional[bool] = ..., hyperparameters: _Optional[bool] = ...) -> None: ...

class ListFrontRequest(_message.Message):
    __slots__ = ("limit", "cursor", "experiment")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    experiment: str
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ..., experiment: _Optional[str] = ...) -> None: ...

class ListGroupsRequest(_message.Message):
    __slots__ = ("limit", "cursor", "filter", "sort")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    SORT_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    filter: str
    sort: str
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ..., filter: _Optional[str] = ..., sort: _Optional[str] = ...) -> None: ...

class ListInstancesRequest(_message.Message):
    __slots__ = ("limit", "cursor", "filter", "sort")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    SORT_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    filter: str
    sort: str
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ..., filter: _Optional[str] = ..., sort: _Optional[str] = ...) -> None: ...

class ListJournalRequest(_message.Message):
    __slots__ = ("limit", "cursor", "experiment")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    experiment: str
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ..., experiment: _Optional[str] = ...) -> None: ...

class ListLimitsRequest(_message.Message):
    __slots__ = ("limit", "cursor", "filter", "sort", "pool")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    SORT_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    filter: str
    sort: str
    pool: str
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ..., filter: _Optional[str] = ..., sort: _Optional[str] = ..., pool: _Optional[str] = ...) -> None: ...

class ListModelVersionsRequest(_message.Message):
    __slots__ = ("limit", "cursor", "filter", "sort", "model")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    SORT_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    filter: str
    sort: str
    model: str
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ..., filter: _Optional[str] = ..., sort: _Optional[str] = ..., model: _Optional[str] = ...) -> None: ...

class ListModelsRequest(_message.Message):
    __slots__ = ("limit", "cursor", "filter", "sort", "name_contains", "workspace", "tag")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    SORT_FIELD_NUMBER: _ClassVar[int]
    NAME_CONTAINS_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    TAG_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    filter: str
    sort: str
    name_contains: str
    workspace: str
    tag: str
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ..., filter: _Optional[str] = ..., sort: _Optional[str] = ..., name_contains: _Optional[str] = ..., workspace: _Optional[str] = ..., tag: _Optional[str] = ...) -> None: ...

class ListOperationsRequest(_message.Message):
    __slots__ = ("limit", "cursor", "filter", "sort")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    SORT_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    filter: str
    sort: str
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ..., filter: _Optional[str] = ..., sort: _Optional[str] = ...) -> None: ...

class ListPoolsRequest(_message.Message):
    __slots__ = ("limit", "cursor", "filter", "sort")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    SORT_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    filter: str
    sort: str
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ..., filter: _Optional[str] = ..., sort: _Optional[str] = ...) -> None: ...

class ListQueueRequest(_message.Message):
    __slots__ = ("limit", "cursor", "filter", "sort", "pool", "starts")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    SORT_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    STARTS_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    filter: str
    sort: str
    pool: str
    starts: bool
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ..., filter: _Optional[str] = ..., sort: _Optional[str] = ..., pool: _Optional[str] = ..., starts: _Optional[bool] = ...) -> None: ...

class ListReservationsRequest(_message.Message):
    __slots__ = ("limit", "cursor", "filter", "sort")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    SORT_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    filter: str
    sort: str
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ..., filter: _Optional[str] = ..., sort: _Optional[str] = ...) -> None: ...

class ListRoleBindingsRequest(_message.Message):
    __slots__ = ("limit", "cursor", "filter", "sort", "role", "user", "group", "workspace")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    SORT_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    filter: str
    sort: str
    role: str
    user: str
    group: str
    workspace: str
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ..., filter: _Optional[str] = ..., sort: _Optional[str] = ..., role: _Optional[str] = ..., user: _Optional[str] = ..., group: _Optional[str] = ..., workspace: _Optional[str] = ...) -> None: ...

class ListRunsRequest(_message.Message):
    __slots__ = ("limit", "cursor", "filter", "sort", "trial")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    SORT_FIELD_NUMBER: _ClassVar[int]
    TRIAL_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    filter: str
    sort: str
    trial: str
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ..., filter: _Optional[str] = ..., sort: _Optional[str] = ..., trial: _Optional[str] = ...) -> None: ...

class ListSearchEventsRequest(_message.Message):
    __slots__ = ("experiment", "after", "limit", "wait", "driver")
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    DRIVER_FIELD_NUMBER: _ClassVar[int]
    experiment: str
    after: int
    limit: int
    wait: float
    driver: str
    def __init__(self, experiment: _Optional[str] = ..., after: _Optional[int] = ..., limit: _Optional[int] = ..., wait: _Optional[float] = ..., driver: _Optional[str] = ...) -> None: ...

class ListSecretsRequest(_message.Message):
    __slots__ = ("workspace",)
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    workspace: str
    def __init__(self, workspace: _Optional[str] = ...) -> None: ...

class ListSessionsRequest(_message.Message):
    __slots__ = ("limit", "cursor", "filter", "sort")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    SORT_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    filter: str
    sort: str
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ..., filter: _Optional[str] = ..., sort: _Optional[str] = ...) -> None: ...

class ListTemplatesRequest(_message.Message):
    __slots__ = ("limit", "cursor", "filter", "sort")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    SORT_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    filter: str
    sort: str
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ..., filter: _Optional[str] = ..., sort: _Optional[str] = ...) -> None: ...

class ListTenantsRequest(_message.Message):
    __slots__ = ("limit", "cursor", "filter", "sort")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    SORT_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    filter: str
    sort: str
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ..., filter: _Optional[str] = ..., sort: _Optional[str] = ...) -> None: ...

class ListTokensRequest(_message.Message):
    __slots__ = ("limit", "cursor", "filter", "sort")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    SORT_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    filter: str
    sort: str
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ..., filter: _Optional[str] = ..., sort: _Optional[str] = ...) -> None: ...

class ListTrialCheckpointsRequest(_message.Message):
    __slots__ = ("limit", "cursor", "filter", "sort", "trial")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    SORT_FIELD_NUMBER: _ClassVar[int]
    TRIAL_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    filter: str
    sort: str
    trial: str
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ..., filter: _Optional[str] = ..., sort: _Optional[str] = ..., trial: _Optional[str] = ...) -> None: ...

class ListTrialLogsRequest(_message.Message):
    __slots__ = ("rank", "contains", "stream", "pattern", "level", "since", "until", "limit", "cursor", "tail", "trial")
    RANK_FIELD_NUMBER: _ClassVar[int]
    CONTAINS_FIELD_NUMBER: _ClassVar[int]
    STREAM_FIELD_NUMBER: _ClassVar[int]
    PATTERN_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    TAIL_FIELD_NUMBER: _ClassVar[int]
    TRIAL_FIELD_NUMBER: _ClassVar[int]
    rank: int
    contains: str
    stream: LogStream
    pattern: str
    level: LogLevel
    since: _timestamp_pb2.Timestamp
    until: _timestamp_pb2.Timestamp
    limit: int
    cursor: str
    tail: int
    trial: str
    def __init__(self, rank: _Optional[int] = ..., contains: _Optional[str] = ..., stream: _Optional[_Union[LogStream, str]] = ..., pattern: _Optional[str] = ..., level: _Optional[_Union[LogLevel, str]] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ..., tail: _Optional[int] = ..., trial: _Optional[str] = ...) -> None: ...

class ListTrialMediaNamesRequest(_message.Message):
    __slots__ = ("limit", "cursor", "trial")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    TRIAL_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    trial: str
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ..., trial: _Optional[str] = ...) -> None: ...

class ListTrialMediaRequest(_message.Message):
    __slots__ = ("limit", "cursor", "trial", "kind", "group", "name", "first_step", "last_step", "after")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    TRIAL_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    FIRST_STEP_FIELD_NUMBER: _ClassVar[int]
    LAST_STEP_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    trial: str
    kind: _containers.RepeatedScalarFieldContainer[MediaKind]
    group: str
    name: _containers.RepeatedScalarFieldContainer[str]
    first_step: int
    last_step: int
    after: str
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ..., trial: _Optional[str] = ..., kind: _Optional[_Iterable[_Union[MediaKind, str]]] = ..., group: _Optional[str] = ..., name: _Optional[_Iterable[str]] = ..., first_step: _Optional[int] = ..., last_step: _Optional[int] = ..., after: _Optional[str] = ...) -> None: ...

class ListTrialsRequest(_message.Message):
    __slots__ = ("limit", "cursor", "filter", "sort", "experiment", "state", "order", "invalid")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    SORT_FIELD_NUMBER: _ClassVar[int]
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    INVALID_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    filter: str
    sort: str
    experiment: str
    state: _containers.RepeatedScalarFieldContainer[TrialState]
    order: TrialOrder
    invalid: bool
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ..., filter: _Optional[str] = ..., sort: _Optional[str] = ..., experiment: _Optional[str] = ..., state: _Optional[_Iterable[_Union[TrialState, str]]] = ..., order: _Optional[_Union[TrialOrder, str]] = ..., invalid: _Optional[bool] = ...) -> None: ...

class ListUserSessionsRequest(_message.Message):
    __slots__ = ("limit", "cursor", "filter", "sort", "user")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    SORT_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    filter: str
    sort: str
    user: str
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ..., filter: _Optional[str] = ..., sort: _Optional[str] = ..., user: _Optional[str] = ...) -> None: ...

class ListUsersRequest(_message.Message):
    __slots__ = ("limit", "cursor", "filter", "sort", "group")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    SORT_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    filter: str
    sort: str
    group: str
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ..., filter: _Optional[str] = ..., sort: _Optional[str] = ..., group: _Optional[str] = ...) -> None: ...

class ListWebhookDeliveriesRequest(_message.Message):
    __slots__ = ("limit", "cursor", "filter", "sort", "webhook", "state")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    SORT_FIELD_NUMBER: _ClassVar[int]
    WEBHOOK_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    filter: str
    sort: str
    webhook: str
    state: DeliveryState
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ..., filter: _Optional[str] = ..., sort: _Optional[str] = ..., webhook: _Optional[str] = ..., state: _Optional[_Union[DeliveryState, str]] = ...) -> None: ...

class ListWebhooksRequest(_message.Message):
    __slots__ = ("limit", "cursor", "filter", "sort", "workspace")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    SORT_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    filter: str
    sort: str
    workspace: str
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ..., filter: _Optional[str] = ..., sort: _Optional[str] = ..., workspace: _Optional[str] = ...) -> None: ...

class ListWorkersRequest(_message.Message):
    __slots__ = ("limit", "cursor", "filter", "sort", "pool")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    SORT_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    filter: str
    sort: str
    pool: str
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ..., filter: _Optional[str] = ..., sort: _Optional[str] = ..., pool: _Optional[str] = ...) -> None: ...

class LogLine(_message.Message):
    __slots__ = ("cursor", "trial", "trial_number", "experiment_number", "run", "rank", "stream", "level", "time", "text")
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    TRIAL_FIELD_NUMBER: _ClassVar[int]
    TRIAL_NUMBER_FIELD_NUMBER: _ClassVar[int]
    EXPERIMENT_NUMBER_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    STREAM_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    cursor: str
    trial: str
    trial_number: int
    experiment_number: int
    run: int
    rank: int
    stream: str
    level: str
    time: _timestamp_pb2.Timestamp
    text: str
    def __init__(self, cursor: _Optional[str] = ..., trial: _Optional[str] = ..., trial_number: _Optional[int] = ..., experiment_number: _Optional[int] = ..., run: _Optional[int] = ..., rank: _Optional[int] = ..., stream: _Optional[str] = ..., level: _Optional[str] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., text: _Optional[str] = ...) -> None: ...

class LogPage(_message.Message):
    __slots__ = ("items", "next_cursor")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[LogLine]
    next_cursor: str
    def __init__(self, items: _Optional[_Iterable[_Union[LogLine, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class LongOperation(_message.Message):
    __slots__ = ("id", "operation", "state", "created_at", "result", "code", "message", "hint", "waiting")
    ID_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    HINT_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    id: str
    operation: str
    state: OperationState
    created_at: _timestamp_pb2.Timestamp
    result: _struct_pb2.Struct
    code: str
    message: str
    hint: str
    waiting: str
    def __init__(self, id: _Optional[str] = ..., operation: _Optional[str] = ..., state: _Optional[_Union[OperationState, str]] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., result: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., code: _Optional[str] = ..., message: _Optional[str] = ..., hint: _Optional[str] = ..., waiting: _Optional[str] = ...) -> None: ...

class LongOperationPage(_message.Message):
    __slots__ = ("items", "next_cursor")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[LongOperation]
    next_cursor: str
    def __init__(self, items: _Optional[_Iterable[_Union[LongOperation, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class MachineCost(_message.Message):
    __slots__ = ("day", "pool", "kind", "purchase", "instances", "hours", "cost")
    DAY_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    PURCHASE_FIELD_NUMBER: _ClassVar[int]
    INSTANCES_FIELD_NUMBER: _ClassVar[int]
    HOURS_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    day: str
    pool: str
    kind: str
    purchase: Purchase
    instances: int
    hours: float
    cost: float
    def __init__(self, day: _Optional[str] = ..., pool: _Optional[str] = ..., kind: _Optional[str] = ..., purchase: _Optional[_Union[Purchase, str]] = ..., instances: _Optional[int] = ..., hours: _Optional[float] = ..., cost: _Optional[float] = ...) -> None: ...

class MachineCosts(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[MachineCost]
    def __init__(self, items: _Optional[_Iterable[_Union[MachineCost, _Mapping]]] = ...) -> None: ...

class MachineEvent(_message.Message):
    __slots__ = ("id", "time", "kind", "change", "pool", "version", "resource")
    ID_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    CHANGE_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    id: str
    time: _timestamp_pb2.Timestamp
    kind: MachineEventKind
    change: str
    pool: str
    version: int
    resource: _struct_pb2.Struct
    def __init__(self, id: _Optional[str] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., kind: _Optional[_Union[MachineEventKind, str]] = ..., change: _Optional[str] = ..., pool: _Optional[str] = ..., version: _Optional[int] = ..., resource: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class MachineKinds(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[MachineOffer]
    def __init__(self, items: _Optional[_Iterable[_Union[MachineOffer, _Mapping]]] = ...) -> None: ...

class MachineOffer(_message.Message):
    __slots__ = ("kind", "provider", "zone", "purchase", "slots", "slot_kind", "gpu", "memory_gib", "price_per_hour", "priced_on", "held", "held_until")
    KIND_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    ZONE_FIELD_NUMBER: _ClassVar[int]
    PURCHASE_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    SLOT_KIND_FIELD_NUMBER: _ClassVar[int]
    GPU_FIELD_NUMBER: _ClassVar[int]
    MEMORY_GIB_FIELD_NUMBER: _ClassVar[int]
    PRICE_PER_HOUR_FIELD_NUMBER: _ClassVar[int]
    PRICED_ON_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    HELD_UNTIL_FIELD_NUMBER: _ClassVar[int]
    kind: str
    provider: str
    zone: str
    purchase: Purchase
    slots: int
    slot_kind: str
    gpu: str
    memory_gib: float
    price_per_hour: float
    priced_on: str
    held: str
    held_until: _timestamp_pb2.Timestamp
    def __init__(self, kind: _Optional[str] = ..., provider: _Optional[str] = ..., zone: _Optional[str] = ..., purchase: _Optional[_Union[Purchase, str]] = ..., slots: _Optional[int] = ..., slot_kind: _Optional[str] = ..., gpu: _Optional[str] = ..., memory_gib: _Optional[float] = ..., price_per_hour: _Optional[float] = ..., priced_on: _Optional[str] = ..., held: _Optional[str] = ..., held_until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class MachinePool(_message.Message):
    __slots__ = ("name", "of_settings", "closing", "kinds", "zones", "order", "minimum", "maximum", "maximum_slots", "reserve_slots", "spot_share", "on_demand_slots", "falls_back", "moves_runs", "batching_window_s", "idle_timeout_s", "join_timeout_s", "budget_per_month", "labels", "instances", "spent", "fault", "offers")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    OF_SETTINGS_FIELD_NUMBER: _ClassVar[int]
    CLOSING_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    ZONES_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    MINIMUM_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_SLOTS_FIELD_NUMBER: _ClassVar[int]
    RESERVE_SLOTS_FIELD_NUMBER: _ClassVar[int]
    SPOT_SHARE_FIELD_NUMBER: _ClassVar[int]
    ON_DEMAND_SLOTS_FIELD_NUMBER: _ClassVar[int]
    FALLS_BACK_FIELD_NUMBER: _ClassVar[int]
    MOVES_RUNS_FIELD_NUMBER: _ClassVar[int]
    BATCHING_WINDOW_S_FIELD_NUMBER: _ClassVar[int]
    IDLE_TIMEOUT_S_FIELD_NUMBER: _ClassVar[int]
    JOIN_TIMEOUT_S_FIELD_NUMBER: _ClassVar[int]
    BUDGET_PER_MONTH_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    INSTANCES_FIELD_NUMBER: _ClassVar[int]
    SPENT_FIELD_NUMBER: _ClassVar[int]
    FAULT_FIELD_NUMBER: _ClassVar[int]
    OFFERS_FIELD_NUMBER: _ClassVar[int]
    name: str
    of_settings: bool
    closing: bool
    kinds: _containers.RepeatedScalarFieldContainer[str]
    zones: _containers.RepeatedScalarFieldContainer[str]
    order: OfferOrder
    minimum: int
    maximum: int
    maximum_slots: int
    reserve_slots: int
    spot_share: float
    on_demand_slots: int
    falls_back: bool
    moves_runs: bool
    batching_window_s: float
    idle_timeout_s: float
    join_timeout_s: float
    budget_per_month: float
    labels: _containers.ScalarMap[str, str]
    instances: int
    spent: float
    fault: str
    offers: _containers.RepeatedCompositeFieldContainer[MachineOffer]
    def __init__(self, name: _Optional[str] = ..., of_settings: _Optional[bool] = ..., closing: _Optional[bool] = ..., kinds: _Optional[_Iterable[str]] = ..., zones: _Optional[_Iterable[str]] = ..., order: _Optional[_Union[OfferOrder, str]] = ..., minimum: _Optional[int] = ..., maximum: _Optional[int] = ..., maximum_slots: _Optional[int] = ..., reserve_slots: _Optional[int] = ..., spot_share: _Optional[float] = ..., on_demand_slots: _Optional[int] = ..., falls_back: _Optional[bool] = ..., moves_runs: _Optional[bool] = ..., batching_window_s: _Optional[float] = ..., idle_timeout_s: _Optional[float] = ..., join_timeout_s: _Optional[float] = ..., budget_per_month: _Optional[float] = ..., labels: _Optional[_Mapping[str, str]] = ..., instances: _Optional[int] = ..., spent: _Optional[float] = ..., fault: _Optional[str] = ..., offers: _Optional[_Iterable[_Union[MachineOffer, _Mapping]]] = ...) -> None: ...

class MachinePoolRequest(_message.Message):
    __slots__ = ("pool",)
    POOL_FIELD_NUMBER: _ClassVar[int]
    pool: str
    def __init__(self, pool: _Optional[str] = ...) -> None: ...

class MachinePools(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[MachinePool]
    def __init__(self, items: _Optional[_Iterable[_Union[MachinePool, _Mapping]]] = ...) -> None: ...

class Me(_message.Message):
    __slots__ = ("tenant", "tenant_name", "token", "name", "role", "permissions", "expires_at", "roles")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    TENANT_NAME_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    PERMISSIONS_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    ROLES_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    tenant_name: str
    token: str
    name: str
    role: Role
    permissions: _containers.RepeatedScalarFieldContainer[str]
    expires_at: _timestamp_pb2.Timestamp
    roles: _containers.RepeatedCompositeFieldContainer[HeldRole]
    def __init__(self, tenant: _Optional[str] = ..., tenant_name: _Optional[str] = ..., token: _Optional[str] = ..., name: _Optional[str] = ..., role: _Optional[_Union[Role, str]] = ..., permissions: _Optional[_Iterable[str]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., roles: _Optional[_Iterable[_Union[HeldRole, _Mapping]]] = ...) -> None: ...

class Measured(_message.Message):
    __slots__ = ("step", "value", "not_finite", "others", "others_not_finite")
    class OthersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    class OthersNotFiniteEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: NotFinite
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[NotFinite, str]] = ...) -> None: ...
    STEP_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    NOT_FINITE_FIELD_NUMBER: _ClassVar[int]
    OTHERS_FIELD_NUMBER: _ClassVar[int]
    OTHERS_NOT_FINITE_FIELD_NUMBER: _ClassVar[int]
    step: int
    value: float
    not_finite: NotFinite
    others: _containers.ScalarMap[str, float]
    others_not_finite: _containers.ScalarMap[str, NotFinite]
    def __init__(self, step: _Optional[int] = ..., value: _Optional[float] = ..., not_finite: _Optional[_Union[NotFinite, str]] = ..., others: _Optional[_Mapping[str, float]] = ..., others_not_finite: _Optional[_Mapping[str, NotFinite]] = ...) -> None: ...

class MediaContent(_message.Message):
    __slots__ = ("id", "kind", "content_type", "size_bytes", "sha256", "base64")
    ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    BASE64_FIELD_NUMBER: _ClassVar[int]
    id: str
    kind: MediaKind
    content_type: str
    size_bytes: int
    sha256: str
    base64: str
    def __init__(self, id: _Optional[str] = ..., kind: _Optional[_Union[MediaKind, str]] = ..., content_type: _Optional[str] = ..., size_bytes: _Optional[int] = ..., sha256: _Optional[str] = ..., base64: _Optional[str] = ...) -> None: ...

class MediaItem(_message.Message):
    __slots__ = ("id", "kind", "group", "name", "step", "run", "time", "content_type", "size_bytes", "sha256", "url", "offset", "about")
    ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    ABOUT_FIELD_NUMBER: _ClassVar[int]
    id: str
    kind: MediaKind
    group: str
    name: str
    step: int
    run: int
    time: _timestamp_pb2.Timestamp
    content_type: str
    size_bytes: int
    sha256: str
    url: str
    offset: int
    about: _struct_pb2.Struct
    def __init__(self, id: _Optional[str] = ..., kind: _Optional[_Union[MediaKind, str]] = ..., group: _Optional[str] = ..., name: _Optional[str] = ..., step: _Optional[int] = ..., run: _Optional[int] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., content_type: _Optional[str] = ..., size_bytes: _Optional[int] = ..., sha256: _Optional[str] = ..., url: _Optional[str] = ..., offset: _Optional[int] = ..., about: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class MediaName(_message.Message):
    __slots__ = ("kind", "group", "name", "count", "size_bytes", "first_step", "last_step")
    KIND_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    FIRST_STEP_FIELD_NUMBER: _ClassVar[int]
    LAST_STEP_FIELD_NUMBER: _ClassVar[int]
    kind: MediaKind
    group: str
    name: str
    count: int
    size_bytes: int
    first_step: int
    last_step: int
    def __init__(self, kind: _Optional[_Union[MediaKind, str]] = ..., group: _Optional[str] = ..., name: _Optional[str] = ..., count: _Optional[int] = ..., size_bytes: _Optional[int] = ..., first_step: _Optional[int] = ..., last_step: _Optional[int] = ...) -> None: ...

class MediaNamePage(_message.Message):
    __slots__ = ("items", "next_cursor")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[MediaName]
    next_cursor: str
    def __init__(self, items: _Optional[_Iterable[_Union[MediaName, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class MediaPage(_message.Message):
    __slots__ = ("items", "next_cursor")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[MediaItem]
    next_cursor: str
    def __init__(self, items: _Optional[_Iterable[_Union[MediaItem, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class MetricPoint(_message.Message):
    __slots__ = ("step", "time", "run", "value", "not_finite")
    STEP_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    NOT_FINITE_FIELD_NUMBER: _ClassVar[int]
    step: int
    time: _timestamp_pb2.Timestamp
    run: int
    value: float
    not_finite: NotFinite
    def __init__(self, step: _Optional[int] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., run: _Optional[int] = ..., value: _Optional[float] = ..., not_finite: _Optional[_Union[NotFinite, str]] = ...) -> None: ...

class MetricSeries(_message.Message):
    __slots__ = ("group", "name", "count", "points")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    POINTS_FIELD_NUMBER: _ClassVar[int]
    group: str
    name: str
    count: int
    points: _containers.RepeatedCompositeFieldContainer[MetricPoint]
    def __init__(self, group: _Optional[str] = ..., name: _Optional[str] = ..., count: _Optional[int] = ..., points: _Optional[_Iterable[_Union[MetricPoint, _Mapping]]] = ...) -> None: ...

class MetricSummaries(_message.Message):
    __slots__ = ("trial", "metrics")
    TRIAL_FIELD_NUMBER: _ClassVar[int]
    METRICS_FIELD_NUMBER: _ClassVar[int]
    trial: str
    metrics: _containers.RepeatedCompositeFieldContainer[MetricSummary]
    def __init__(self, trial: _Optional[str] = ..., metrics: _Optional[_Iterable[_Union[MetricSummary, _Mapping]]] = ...) -> None: ...

class MetricSummary(_message.Message):
    __slots__ = ("group", "name", "count", "min", "max", "mean", "last", "last_not_finite", "last_step")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    MIN_FIELD_NUMBER: _ClassVar[int]
    MAX_FIELD_NUMBER: _ClassVar[int]
    MEAN_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    LAST_NOT_FINITE_FIELD_NUMBER: _ClassVar[int]
    LAST_STEP_FIELD_NUMBER: _ClassVar[int]
    group: str
    name: str
    count: int
    min: float
    max: float
    mean: float
    last: float
    last_not_finite: NotFinite
    last_step: int
    def __init__(self, group: _Optional[str] = ..., name: _Optional[str] = ..., count: _Optional[int] = ..., min: _Optional[float] = ..., max: _Optional[float] = ..., mean: _Optional[float] = ..., last: _Optional[float] = ..., last_not_finite: _Optional[_Union[NotFinite, str]] = ..., last_step: _Optional[int] = ...) -> None: ...

class Model(_message.Message):
    __slots__ = ("id", "name", "workspace", "description", "notes", "tags", "metadata", "approvals", "versions", "aliases", "owner", "created_at", "changed_by", "version")
    class ApprovalsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    class AliasesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    APPROVALS_FIELD_NUMBER: _ClassVar[int]
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    CHANGED_BY_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    workspace: str
    description: str
    notes: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    metadata: _struct_pb2.Struct
    approvals: _containers.ScalarMap[str, int]
    versions: int
    aliases: _containers.ScalarMap[str, int]
    owner: str
    created_at: _timestamp_pb2.Timestamp
    changed_by: str
    version: int
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., workspace: _Optional[str] = ..., description: _Optional[str] = ..., notes: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., metadata: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., approvals: _Optional[_Mapping[str, int]] = ..., versions: _Optional[int] = ..., aliases: _Optional[_Mapping[str, int]] = ..., owner: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., changed_by: _Optional[str] = ..., version: _Optional[int] = ...) -> None: ...

class ModelAlias(_message.Message):
    __slots__ = ("model", "alias")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    ALIAS_FIELD_NUMBER: _ClassVar[int]
    model: str
    alias: str
    def __init__(self, model: _Optional[str] = ..., alias: _Optional[str] = ...) -> None: ...

class ModelComparison(_message.Message):
    __slots__ = ("base", "other", "differences")
    BASE_FIELD_NUMBER: _ClassVar[int]
    OTHER_FIELD_NUMBER: _ClassVar[int]
    DIFFERENCES_FIELD_NUMBER: _ClassVar[int]
    base: ModelVersion
    other: ModelVersion
    differences: _containers.RepeatedCompositeFieldContainer[Difference]
    def __init__(self, base: _Optional[_Union[ModelVersion, _Mapping]] = ..., other: _Optional[_Union[ModelVersion, _Mapping]] = ..., differences: _Optional[_Iterable[_Union[Difference, _Mapping]]] = ...) -> None: ...

class ModelLineage(_message.Message):
    __slots__ = ("experiment", "trial", "run", "checkpoint", "step", "code_sha256", "hyperparameters", "metrics", "not_finite", "datasets", "start_checkpoint", "image")
    class MetricsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    class NotFiniteEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: NotFinite
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[NotFinite, str]] = ...) -> None: ...
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    TRIAL_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    CODE_SHA256_FIELD_NUMBER: _ClassVar[int]
    HYPERPARAMETERS_FIELD_NUMBER: _ClassVar[int]
    METRICS_FIELD_NUMBER: _ClassVar[int]
    NOT_FINITE_FIELD_NUMBER: _ClassVar[int]
    DATASETS_FIELD_NUMBER: _ClassVar[int]
    START_CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    IMAGE_FIELD_NUMBER: _ClassVar[int]
    experiment: str
    trial: str
    run: str
    checkpoint: str
    step: int
    code_sha256: str
    hyperparameters: _struct_pb2.Struct
    metrics: _containers.ScalarMap[str, float]
    not_finite: _containers.ScalarMap[str, NotFinite]
    datasets: _containers.RepeatedCompositeFieldContainer[DatasetReference]
    start_checkpoint: str
    image: str
    def __init__(self, experiment: _Optional[str] = ..., trial: _Optional[str] = ..., run: _Optional[str] = ..., checkpoint: _Optional[str] = ..., step: _Optional[int] = ..., code_sha256: _Optional[str] = ..., hyperparameters: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., metrics: _Optional[_Mapping[str, float]] = ..., not_finite: _Optional[_Mapping[str, NotFinite]] = ..., datasets: _Optional[_Iterable[_Union[DatasetReference, _Mapping]]] = ..., start_checkpoint: _Optional[str] = ..., image: _Optional[str] = ...) -> None: ...

class ModelPage(_message.Message):
    __slots__ = ("items", "next_cursor")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Model]
    next_cursor: str
    def __init__(self, items: _Optional[_Iterable[_Union[Model, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class ModelRequest(_message.Message):
    __slots__ = ("model",)
    MODEL_FIELD_NUMBER: _ClassVar[int]
    model: str
    def __init__(self, model: _Optional[str] = ...) -> None: ...

class ModelVersion(_message.Message):
    __slots__ = ("id", "model", "model_name", "number", "name", "comment", "notes", "tags", "metadata", "signature", "stage", "pending", "stages", "checkpoint", "lineage", "files", "size_bytes", "owner", "created_at", "changed_by", "version")
    ID_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    MODEL_NAME_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    COMMENT_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    STAGES_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    LINEAGE_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    CHANGED_BY_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    id: str
    model: str
    model_name: str
    number: int
    name: str
    comment: str
    notes: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    metadata: _struct_pb2.Struct
    signature: Signature
    stage: ModelStage
    pending: PendingStage
    stages: _containers.RepeatedCompositeFieldContainer[StageChange]
    checkpoint: str
    lineage: ModelLineage
    files: int
    size_bytes: int
    owner: str
    created_at: _timestamp_pb2.Timestamp
    changed_by: str
    version: int
    def __init__(self, id: _Optional[str] = ..., model: _Optional[str] = ..., model_name: _Optional[str] = ..., number: _Optional[int] = ..., name: _Optional[str] = ..., comment: _Optional[str] = ..., notes: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., metadata: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., signature: _Optional[_Union[Signature, _Mapping]] = ..., stage: _Optional[_Union[ModelStage, str]] = ..., pending: _Optional[_Union[PendingStage, _Mapping]] = ..., stages: _Optional[_Iterable[_Union[StageChange, _Mapping]]] = ..., checkpoint: _Optional[str] = ..., lineage: _Optional[_Union[ModelLineage, _Mapping]] = ..., files: _Optional[int] = ..., size_bytes: _Optional[int] = ..., owner: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., changed_by: _Optional[str] = ..., version: _Optional[int] = ...) -> None: ...

class ModelVersionPage(_message.Message):
    __slots__ = ("items", "next_cursor")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[ModelVersion]
    next_cursor: str
    def __init__(self, items: _Optional[_Iterable[_Union[ModelVersion, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class ModelVersionRequest(_message.Message):
    __slots__ = ("model", "version")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    model: str
    version: str
    def __init__(self, model: _Optional[str] = ..., version: _Optional[str] = ...) -> None: ...

class MonthlyBudget(_message.Message):
    __slots__ = ("tenant", "workspace", "per_month", "when_spent", "spent", "since", "warnings")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    PER_MONTH_FIELD_NUMBER: _ClassVar[int]
    WHEN_SPENT_FIELD_NUMBER: _ClassVar[int]
    SPENT_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    workspace: str
    per_month: float
    when_spent: WhenSpent
    spent: float
    since: _timestamp_pb2.Timestamp
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, tenant: _Optional[str] = ..., workspace: _Optional[str] = ..., per_month: _Optional[float] = ..., when_spent: _Optional[_Union[WhenSpent, str]] = ..., spent: _Optional[float] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., warnings: _Optional[_Iterable[str]] = ...) -> None: ...

class MonthlyBudgets(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[MonthlyBudget]
    def __init__(self, items: _Optional[_Iterable[_Union[MonthlyBudget, _Mapping]]] = ...) -> None: ...

class OperationRequest(_message.Message):
    __slots__ = ("operation",)
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    operation: str
    def __init__(self, operation: _Optional[str] = ...) -> None: ...

class PendingStage(_message.Message):
    __slots__ = ("stage", "by", "reason", "asked_at", "needed", "approvals")
    STAGE_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    ASKED_AT_FIELD_NUMBER: _ClassVar[int]
    NEEDED_FIELD_NUMBER: _ClassVar[int]
    APPROVALS_FIELD_NUMBER: _ClassVar[int]
    stage: ModelStage
    by: str
    reason: str
    asked_at: _timestamp_pb2.Timestamp
    needed: int
    approvals: _containers.RepeatedCompositeFieldContainer[StageApproval]
    def __init__(self, stage: _Optional[_Union[ModelStage, str]] = ..., by: _Optional[str] = ..., reason: _Optional[str] = ..., asked_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., needed: _Optional[int] = ..., approvals: _Optional[_Iterable[_Union[StageApproval, _Mapping]]] = ...) -> None: ...

class Phase(_message.Message):
    __slots__ = ("kind", "run", "began_at", "ended_at", "within", "step", "reason", "image")
    KIND_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    BEGAN_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    WITHIN_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    IMAGE_FIELD_NUMBER: _ClassVar[int]
    kind: PhaseKind
    run: int
    began_at: _timestamp_pb2.Timestamp
    ended_at: _timestamp_pb2.Timestamp
    within: PhaseKind
    step: int
    reason: str
    image: str
    def __init__(self, kind: _Optional[_Union[PhaseKind, str]] = ..., run: _Optional[int] = ..., began_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ended_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., within: _Optional[_Union[PhaseKind, str]] = ..., step: _Optional[int] = ..., reason: _Optional[str] = ..., image: _Optional[str] = ...) -> None: ...

class Plan(_message.Message):
    __slots__ = ("on", "basis", "earlier_runs", "earlier_experiments", "others_running", "others_waiting", "futures", "unit", "trials", "stopped", "rungs", "steps", "slots", "step_s", "slot_hours", "waits_s", "took_s", "price_per_slot_hour", "cost", "notes", "warnings")
    ON_FIELD_NUMBER: _ClassVar[int]
    BASIS_FIELD_NUMBER: _ClassVar[int]
    EARLIER_RUNS_FIELD_NUMBER: _ClassVar[int]
    EARLIER_EXPERIMENTS_FIELD_NUMBER: _ClassVar[int]
    OTHERS_RUNNING_FIELD_NUMBER: _ClassVar[int]
    OTHERS_WAITING_FIELD_NUMBER: _ClassVar[int]
    FUTURES_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    TRIALS_FIELD_NUMBER: _ClassVar[int]
    STOPPED_FIELD_NUMBER: _ClassVar[int]
    RUNGS_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    STEP_S_FIELD_NUMBER: _ClassVar[int]
    SLOT_HOURS_FIELD_NUMBER: _ClassVar[int]
    WAITS_S_FIELD_NUMBER: _ClassVar[int]
    TOOK_S_FIELD_NUMBER: _ClassVar[int]
    PRICE_PER_SLOT_HOUR_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    on: str
    basis: PlanBasis
    earlier_runs: int
    earlier_experiments: int
    others_running: int
    others_waiting: int
    futures: int
    unit: str
    trials: PlanRange
    stopped: PlanRange
    rungs: _containers.RepeatedCompositeFieldContainer[PlanRung]
    steps: PlanRange
    slots: float
    step_s: float
    slot_hours: PlanRange
    waits_s: PlanRange
    took_s: PlanRange
    price_per_slot_hour: float
    cost: PlanRange
    notes: _containers.RepeatedScalarFieldContainer[str]
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, on: _Optional[str] = ..., basis: _Optional[_Union[PlanBasis, str]] = ..., earlier_runs: _Optional[int] = ..., earlier_experiments: _Optional[int] = ..., others_running: _Optional[int] = ..., others_waiting: _Optional[int] = ..., futures: _Optional[int] = ..., unit: _Optional[str] = ..., trials: _Optional[_Union[PlanRange, _Mapping]] = ..., stopped: _Optional[_Union[PlanRange, _Mapping]] = ..., rungs: _Optional[_Iterable[_Union[PlanRung, _Mapping]]] = ..., steps: _Optional[_Union[PlanRange, _Mapping]] = ..., slots: _Optional[float] = ..., step_s: _Optional[float] = ..., slot_hours: _Optional[_Union[PlanRange, _Mapping]] = ..., waits_s: _Optional[_Union[PlanRange, _Mapping]] = ..., took_s: _Optional[_Union[PlanRange, _Mapping]] = ..., price_per_slot_hour: _Optional[float] = ..., cost: _Optional[_Union[PlanRange, _Mapping]] = ..., notes: _Optional[_Iterable[str]] = ..., warnings: _Optional[_Iterable[str]] = ...) -> None: ...

class PlanExperimentRequest(_message.Message):
    __slots__ = ("config", "config_yaml", "code_sha256", "check_code", "code_files", "pool", "template", "cluster", "whole", "steps", "step_s", "price_per_slot_hour", "futures")
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    CONFIG_YAML_FIELD_NUMBER: _ClassVar[int]
    CODE_SHA256_FIELD_NUMBER: _ClassVar[int]
    CHECK_CODE_FIELD_NUMBER: _ClassVar[int]
    CODE_FILES_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    WHOLE_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    STEP_S_FIELD_NUMBER: _ClassVar[int]
    PRICE_PER_SLOT_HOUR_FIELD_NUMBER: _ClassVar[int]
    FUTURES_FIELD_NUMBER: _ClassVar[int]
    config: _struct_pb2.Struct
    config_yaml: str
    code_sha256: str
    check_code: bool
    code_files: _containers.RepeatedScalarFieldContainer[str]
    pool: str
    template: str
    cluster: _struct_pb2.Struct
    whole: bool
    steps: int
    step_s: float
    price_per_slot_hour: float
    futures: int
    def __init__(self, config: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., config_yaml: _Optional[str] = ..., code_sha256: _Optional[str] = ..., check_code: _Optional[bool] = ..., code_files: _Optional[_Iterable[str]] = ..., pool: _Optional[str] = ..., template: _Optional[str] = ..., cluster: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., whole: _Optional[bool] = ..., steps: _Optional[int] = ..., step_s: _Optional[float] = ..., price_per_slot_hour: _Optional[float] = ..., futures: _Optional[int] = ...) -> None: ...

class PlanRange(_message.Message):
    __slots__ = ("low", "middle", "high")
    LOW_FIELD_NUMBER: _ClassVar[int]
    MIDDLE_FIELD_NUMBER: _ClassVar[int]
    HIGH_FIELD_NUMBER: _ClassVar[int]
    low: float
    middle: float
    high: float
    def __init__(self, low: _Optional[float] = ..., middle: _Optional[float] = ..., high: _Optional[float] = ...) -> None: ...

class PlanRung(_message.Message):
    __slots__ = ("at", "trials")
    AT_FIELD_NUMBER: _ClassVar[int]
    TRIALS_FIELD_NUMBER: _ClassVar[int]
    at: float
    trials: PlanRange
    def __init__(self, at: _Optional[float] = ..., trials: _Optional[_Union[PlanRange, _Mapping]] = ...) -> None: ...

class PlatformHealth(_message.Message):
    __slots__ = ("state", "summary", "since", "checks", "warnings")
    STATE_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    CHECKS_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    state: HealthState
    summary: str
    since: _timestamp_pb2.Timestamp
    checks: _containers.RepeatedCompositeFieldContainer[ServiceCheck]
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, state: _Optional[_Union[HealthState, str]] = ..., summary: _Optional[str] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., checks: _Optional[_Iterable[_Union[ServiceCheck, _Mapping]]] = ..., warnings: _Optional[_Iterable[str]] = ...) -> None: ...

class Pool(_message.Message):
    __slots__ = ("name", "slot_kind", "workers", "slots", "used_slots", "waiting_slots", "max_slots", "preemption", "exclusive", "rules")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SLOT_KIND_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    USED_SLOTS_FIELD_NUMBER: _ClassVar[int]
    WAITING_SLOTS_FIELD_NUMBER: _ClassVar[int]
    MAX_SLOTS_FIELD_NUMBER: _ClassVar[int]
    PREEMPTION_FIELD_NUMBER: _ClassVar[int]
    EXCLUSIVE_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    name: str
    slot_kind: str
    workers: int
    slots: int
    used_slots: int
    waiting_slots: int
    max_slots: int
    preemption: bool
    exclusive: bool
    rules: PoolRules
    def __init__(self, name: _Optional[str] = ..., slot_kind: _Optional[str] = ..., workers: _Optional[int] = ..., slots: _Optional[int] = ..., used_slots: _Optional[int] = ..., waiting_slots: _Optional[int] = ..., max_slots: _Optional[int] = ..., preemption: _Optional[bool] = ..., exclusive: _Optional[bool] = ..., rules: _Optional[_Union[PoolRules, _Mapping]] = ...) -> None: ...

class PoolPage(_message.Message):
    __slots__ = ("items", "next_cursor")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Pool]
    next_cursor: str
    def __init__(self, items: _Optional[_Iterable[_Union[Pool, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class PoolRequest(_message.Message):
    __slots__ = ("pool",)
    POOL_FIELD_NUMBER: _ClassVar[int]
    pool: str
    def __init__(self, pool: _Optional[str] = ...) -> None: ...

class PoolRules(_message.Message):
    __slots__ = ("order", "preemption", "elastic", "default_priority", "ageing_s", "half_life_s", "min_run_s", "max_preemptions", "quantum_s", "defragment", "topology", "placement", "trusted", "tenant")
    ORDER_FIELD_NUMBER: _ClassVar[int]
    PREEMPTION_FIELD_NUMBER: _ClassVar[int]
    ELASTIC_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_PRIORITY_FIELD_NUMBER: _ClassVar[int]
    AGEING_S_FIELD_NUMBER: _ClassVar[int]
    HALF_LIFE_S_FIELD_NUMBER: _ClassVar[int]
    MIN_RUN_S_FIELD_NUMBER: _ClassVar[int]
    MAX_PREEMPTIONS_FIELD_NUMBER: _ClassVar[int]
    QUANTUM_S_FIELD_NUMBER: _ClassVar[int]
    DEFRAGMENT_FIELD_NUMBER: _ClassVar[int]
    TOPOLOGY_FIELD_NUMBER: _ClassVar[int]
    PLACEMENT_FIELD_NUMBER: _ClassVar[int]
    TRUSTED_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    order: PoolOrder
    preemption: bool
    elastic: bool
    default_priority: int
    ageing_s: float
    half_life_s: float
    min_run_s: float
    max_preemptions: int
    quantum_s: float
    defragment: bool
    topology: _containers.RepeatedScalarFieldContainer[str]
    placement: PoolPlacement
    trusted: bool
    tenant: str
    def __init__(self, order: _Optional[_Union[PoolOrder, str]] = ..., preemption: _Optional[bool] = ..., elastic: _Optional[bool] = ..., default_priority: _Optional[int] = ..., ageing_s: _Optional[float] = ..., half_life_s: _Optional[float] = ..., min_run_s: _Optional[float] = ..., max_preemptions: _Optional[int] = ..., quantum_s: _Optional[float] = ..., defragment: _Optional[bool] = ..., topology: _Optional[_Iterable[str]] = ..., placement: _Optional[_Union[PoolPlacement, str]] = ..., trusted: _Optional[bool] = ..., tenant: _Optional[str] = ...) -> None: ...

class Preemption(_message.Message):
    __slots__ = ("run_number", "code", "message", "by")
    RUN_NUMBER_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    run_number: int
    code: str
    message: str
    by: str
    def __init__(self, run_number: _Optional[int] = ..., code: _Optional[str] = ..., message: _Optional[str] = ..., by: _Optional[str] = ...) -> None: ...

class PreviewExperimentsRequest(_message.Message):
    __slots__ = ("filter", "archived")
    FILTER_FIELD_NUMBER: _ClassVar[int]
    ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    filter: str
    archived: bool
    def __init__(self, filter: _Optional[str] = ..., archived: _Optional[bool] = ...) -> None: ...

class PutCodeRequest(_message.Message):
    __slots__ = ("sha256", "data")
    SHA256_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    sha256: str
    data: bytes
    def __init__(self, sha256: _Optional[str] = ..., data: _Optional[bytes] = ...) -> None: ...

class QueueEntry(_message.Message):
    __slots__ = ("trial", "trial_number", "experiment", "experiment_number", "pool", "priority", "slots", "min_slots", "max_slots", "slot_fraction", "state", "position", "code", "reason", "since", "held", "expected_start")
    TRIAL_FIELD_NUMBER: _ClassVar[int]
    TRIAL_NUMBER_FIELD_NUMBER: _ClassVar[int]
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    EXPERIMENT_NUMBER_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    MIN_SLOTS_FIELD_NUMBER: _ClassVar[int]
    MAX_SLOTS_FIELD_NUMBER: _ClassVar[int]
    SLOT_FRACTION_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_START_FIELD_NUMBER: _ClassVar[int]
    trial: str
    trial_number: int
    experiment: str
    experiment_number: int
    pool: str
    priority: int
    slots: int
    min_slots: int
    max_slots: int
    slot_fraction: float
    state: str
    position: int
    code: str
    reason: str
    since: _timestamp_pb2.Timestamp
    held: _containers.RepeatedCompositeFieldContainer[HeldSlots]
    expected_start: ExpectedStart
    def __init__(self, trial: _Optional[str] = ..., trial_number: _Optional[int] = ..., experiment: _Optional[str] = ..., experiment_number: _Optional[int] = ..., pool: _Optional[str] = ..., priority: _Optional[int] = ..., slots: _Optional[int] = ..., min_slots: _Optional[int] = ..., max_slots: _Optional[int] = ..., slot_fraction: _Optional[float] = ..., state: _Optional[str] = ..., position: _Optional[int] = ..., code: _Optional[str] = ..., reason: _Optional[str] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., held: _Optional[_Iterable[_Union[HeldSlots, _Mapping]]] = ..., expected_start: _Optional[_Union[ExpectedStart, _Mapping]] = ...) -> None: ...

class QueuePage(_message.Message):
    __slots__ = ("items", "next_cursor")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[QueueEntry]
    next_cursor: str
    def __init__(self, items: _Optional[_Iterable[_Union[QueueEntry, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class RecordModelUseRequest(_message.Message):
    __slots__ = ("model", "version", "kind", "reference", "metadata")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    model: str
    version: str
    kind: str
    reference: str
    metadata: _struct_pb2.Struct
    def __init__(self, model: _Optional[str] = ..., version: _Optional[str] = ..., kind: _Optional[str] = ..., reference: _Optional[str] = ..., metadata: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class RecoverTenantRequest(_message.Message):
    __slots__ = ("tenant", "ttl_s")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    TTL_S_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    ttl_s: int
    def __init__(self, tenant: _Optional[str] = ..., ttl_s: _Optional[int] = ...) -> None: ...

class Replay(_message.Message):
    __slots__ = ("decisions", "checked", "difference")
    DECISIONS_FIELD_NUMBER: _ClassVar[int]
    CHECKED_FIELD_NUMBER: _ClassVar[int]
    DIFFERENCE_FIELD_NUMBER: _ClassVar[int]
    decisions: int
    checked: int
    difference: ReplayDifference
    def __init__(self, decisions: _Optional[int] = ..., checked: _Optional[int] = ..., difference: _Optional[_Union[ReplayDifference, _Mapping]] = ...) -> None: ...

class ReplayDifference(_message.Message):
    __slots__ = ("position", "kind", "recorded", "recomputed", "summary")
    POSITION_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    RECORDED_FIELD_NUMBER: _ClassVar[int]
    RECOMPUTED_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    position: int
    kind: str
    recorded: _struct_pb2.Struct
    recomputed: _struct_pb2.Struct
    summary: str
    def __init__(self, position: _Optional[int] = ..., kind: _Optional[str] = ..., recorded: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., recomputed: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., summary: _Optional[str] = ...) -> None: ...

class ReportedValue(_message.Message):
    __slots__ = ("cursor", "trial", "trial_number", "run", "group", "name", "step", "time", "value", "not_finite")
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    TRIAL_FIELD_NUMBER: _ClassVar[int]
    TRIAL_NUMBER_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    NOT_FINITE_FIELD_NUMBER: _ClassVar[int]
    cursor: str
    trial: str
    trial_number: int
    run: int
    group: str
    name: str
    step: int
    time: _timestamp_pb2.Timestamp
    value: float
    not_finite: NotFinite
    def __init__(self, cursor: _Optional[str] = ..., trial: _Optional[str] = ..., trial_number: _Optional[int] = ..., run: _Optional[int] = ..., group: _Optional[str] = ..., name: _Optional[str] = ..., step: _Optional[int] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., value: _Optional[float] = ..., not_finite: _Optional[_Union[NotFinite, str]] = ...) -> None: ...

class Reservation(_message.Message):
    __slots__ = ("id", "pool", "tenant", "workspace", "slots", "begins_at", "ends_at", "held_slots", "warnings")
    ID_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    BEGINS_AT_FIELD_NUMBER: _ClassVar[int]
    ENDS_AT_FIELD_NUMBER: _ClassVar[int]
    HELD_SLOTS_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    id: str
    pool: str
    tenant: str
    workspace: str
    slots: int
    begins_at: _timestamp_pb2.Timestamp
    ends_at: _timestamp_pb2.Timestamp
    held_slots: int
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, id: _Optional[str] = ..., pool: _Optional[str] = ..., tenant: _Optional[str] = ..., workspace: _Optional[str] = ..., slots: _Optional[int] = ..., begins_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ends_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., held_slots: _Optional[int] = ..., warnings: _Optional[_Iterable[str]] = ...) -> None: ...

class ReservationPage(_message.Message):
    __slots__ = ("items", "next_cursor")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Reservation]
    next_cursor: str
    def __init__(self, items: _Optional[_Iterable[_Union[Reservation, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class ReservationRequest(_message.Message):
    __slots__ = ("reservation",)
    RESERVATION_FIELD_NUMBER: _ClassVar[int]
    reservation: str
    def __init__(self, reservation: _Optional[str] = ...) -> None: ...

class RetentionPolicy(_message.Message):
    __slots__ = ("save_experiment_best", "save_trial_best", "save_trial_latest")
    SAVE_EXPERIMENT_BEST_FIELD_NUMBER: _ClassVar[int]
    SAVE_TRIAL_BEST_FIELD_NUMBER: _ClassVar[int]
    SAVE_TRIAL_LATEST_FIELD_NUMBER: _ClassVar[int]
    save_experiment_best: int
    save_trial_best: int
    save_trial_latest: int
    def __init__(self, save_experiment_best: _Optional[int] = ..., save_trial_best: _Optional[int] = ..., save_trial_latest: _Optional[int] = ...) -> None: ...

class RetentionRule(_message.Message):
    __slots__ = ("workspace", "metric_detail_days", "metric_retention_days", "log_retention_days", "warnings")
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    METRIC_DETAIL_DAYS_FIELD_NUMBER: _ClassVar[int]
    METRIC_RETENTION_DAYS_FIELD_NUMBER: _ClassVar[int]
    LOG_RETENTION_DAYS_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    workspace: str
    metric_detail_days: int
    metric_retention_days: int
    log_retention_days: int
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, workspace: _Optional[str] = ..., metric_detail_days: _Optional[int] = ..., metric_retention_days: _Optional[int] = ..., log_retention_days: _Optional[int] = ..., warnings: _Optional[_Iterable[str]] = ...) -> None: ...

class RetentionRules(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[RetentionRule]
    def __init__(self, items: _Optional[_Iterable[_Union[RetentionRule, _Mapping]]] = ...) -> None: ...

class RoleBinding(_message.Message):
    __slots__ = ("id", "role", "user", "group", "workspace", "project", "created_at", "by")
    ID_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    id: str
    role: str
    user: str
    group: str
    workspace: str
    project: str
    created_at: _timestamp_pb2.Timestamp
    by: str
    def __init__(self, id: _Optional[str] = ..., role: _Optional[str] = ..., user: _Optional[str] = ..., group: _Optional[str] = ..., workspace: _Optional[str] = ..., project: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., by: _Optional[str] = ...) -> None: ...

class RoleBindingPage(_message.Message):
    __slots__ = ("items", "next_cursor")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[RoleBinding]
    next_cursor: str
    def __init__(self, items: _Optional[_Iterable[_Union[RoleBinding, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class RoleBindingRequest(_message.Message):
    __slots__ = ("binding",)
    BINDING_FIELD_NUMBER: _ClassVar[int]
    binding: str
    def __init__(self, binding: _Optional[str] = ...) -> None: ...

class RoleDefinition(_message.Message):
    __slots__ = ("name", "description", "permissions", "built_in", "tenant_only")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    PERMISSIONS_FIELD_NUMBER: _ClassVar[int]
    BUILT_IN_FIELD_NUMBER: _ClassVar[int]
    TENANT_ONLY_FIELD_NUMBER: _ClassVar[int]
    name: str
    description: str
    permissions: _containers.RepeatedScalarFieldContainer[str]
    built_in: bool
    tenant_only: bool
    def __init__(self, name: _Optional[str] = ..., description: _Optional[str] = ..., permissions: _Optional[_Iterable[str]] = ..., built_in: _Optional[bool] = ..., tenant_only: _Optional[bool] = ...) -> None: ...

class RolePage(_message.Message):
    __slots__ = ("items", "next_cursor")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[RoleDefinition]
    next_cursor: str
    def __init__(self, items: _Optional[_Iterable[_Union[RoleDefinition, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class RoleRequest(_message.Message):
    __slots__ = ("role",)
    ROLE_FIELD_NUMBER: _ClassVar[int]
    role: str
    def __init__(self, role: _Optional[str] = ...) -> None: ...

class RotateWebhookSecretRequest(_message.Message):
    __slots__ = ("webhook", "overlap_s")
    WEBHOOK_FIELD_NUMBER: _ClassVar[int]
    OVERLAP_S_FIELD_NUMBER: _ClassVar[int]
    webhook: str
    overlap_s: int
    def __init__(self, webhook: _Optional[str] = ..., overlap_s: _Optional[int] = ...) -> None: ...

class Run(_message.Message):
    __slots__ = ("id", "trial", "number", "state", "outcome", "reason", "exit_code", "charged", "pool", "members", "granted_at", "ended_at", "labels")
    ID_FIELD_NUMBER: _ClassVar[int]
    TRIAL_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    CHARGED_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    GRANTED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    id: str
    trial: str
    number: int
    state: str
    outcome: str
    reason: str
    exit_code: int
    charged: bool
    pool: str
    members: _containers.RepeatedCompositeFieldContainer[RunMember]
    granted_at: _timestamp_pb2.Timestamp
    ended_at: _timestamp_pb2.Timestamp
    labels: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, id: _Optional[str] = ..., trial: _Optional[str] = ..., number: _Optional[int] = ..., state: _Optional[str] = ..., outcome: _Optional[str] = ..., reason: _Optional[str] = ..., exit_code: _Optional[int] = ..., charged: _Optional[bool] = ..., pool: _Optional[str] = ..., members: _Optional[_Iterable[_Union[RunMember, _Mapping]]] = ..., granted_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ended_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., labels: _Optional[_Iterable[str]] = ...) -> None: ...

class RunMember(_message.Message):
    __slots__ = ("worker", "slots", "slot_fraction")
    WORKER_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    SLOT_FRACTION_FIELD_NUMBER: _ClassVar[int]
    worker: str
    slots: int
    slot_fraction: float
    def __init__(self, worker: _Optional[str] = ..., slots: _Optional[int] = ..., slot_fraction: _Optional[float] = ...) -> None: ...

class RunPage(_message.Message):
    __slots__ = ("items", "next_cursor")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Run]
    next_cursor: str
    def __init__(self, items: _Optional[_Iterable[_Union[Run, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class SaveViewRequest(_message.Message):
    __slots__ = ("name", "address")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    name: str
    address: str
    def __init__(self, name: _Optional[str] = ..., address: _Optional[str] = ...) -> None: ...

class SavedView(_message.Message):
    __slots__ = ("name", "address", "saved_at")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    SAVED_AT_FIELD_NUMBER: _ClassVar[int]
    name: str
    address: str
    saved_at: _timestamp_pb2.Timestamp
    def __init__(self, name: _Optional[str] = ..., address: _Optional[str] = ..., saved_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class SavedViews(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[SavedView]
    def __init__(self, items: _Optional[_Iterable[_Union[SavedView, _Mapping]]] = ...) -> None: ...

class SearchEvent(_message.Message):
    __slots__ = ("number", "time", "kind", "key", "trial", "trial_number", "hyperparameters", "at", "value", "others", "state", "reason")
    class OthersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    TRIAL_FIELD_NUMBER: _ClassVar[int]
    TRIAL_NUMBER_FIELD_NUMBER: _ClassVar[int]
    HYPERPARAMETERS_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    OTHERS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    number: int
    time: _timestamp_pb2.Timestamp
    kind: SearchEventKind
    key: str
    trial: str
    trial_number: int
    hyperparameters: _struct_pb2.Struct
    at: float
    value: float
    others: _containers.ScalarMap[str, float]
    state: str
    reason: str
    def __init__(self, number: _Optional[int] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., kind: _Optional[_Union[SearchEventKind, str]] = ..., key: _Optional[str] = ..., trial: _Optional[str] = ..., trial_number: _Optional[int] = ..., hyperparameters: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., at: _Optional[float] = ..., value: _Optional[float] = ..., others: _Optional[_Mapping[str, float]] = ..., state: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class SearchEventPage(_message.Message):
    __slots__ = ("items", "after", "acknowledged", "over")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    ACKNOWLEDGED_FIELD_NUMBER: _ClassVar[int]
    OVER_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[SearchEvent]
    after: int
    acknowledged: int
    over: bool
    def __init__(self, items: _Optional[_Iterable[_Union[SearchEvent, _Mapping]]] = ..., after: _Optional[int] = ..., acknowledged: _Optional[int] = ..., over: _Optional[bool] = ...) -> None: ...

class SearchLogsRequest(_message.Message):
    __slots__ = ("rank", "contains", "stream", "pattern", "level", "since", "until", "limit", "cursor", "experiment", "trial")
    RANK_FIELD_NUMBER: _ClassVar[int]
    CONTAINS_FIELD_NUMBER: _ClassVar[int]
    STREAM_FIELD_NUMBER: _ClassVar[int]
    PATTERN_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    TRIAL_FIELD_NUMBER: _ClassVar[int]
    rank: int
    contains: str
    stream: LogStream
    pattern: str
    level: LogLevel
    since: _timestamp_pb2.Timestamp
    until: _timestamp_pb2.Timestamp
    limit: int
    cursor: str
    experiment: _containers.RepeatedScalarFieldContainer[str]
    trial: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, rank: _Optional[int] = ..., contains: _Optional[str] = ..., stream: _Optional[_Union[LogStream, str]] = ..., pattern: _Optional[str] = ..., level: _Optional[_Union[LogLevel, str]] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ..., experiment: _Optional[_Iterable[str]] = ..., trial: _Optional[_Iterable[str]] = ...) -> None: ...

class SearchOperation(_message.Message):
    __slots__ = ("verb", "key", "hyperparameters", "until", "source", "share", "reason")
    VERB_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    HYPERPARAMETERS_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    SHARE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    verb: SearchVerb
    key: str
    hyperparameters: _struct_pb2.Struct
    until: float
    source: str
    share: float
    reason: str
    def __init__(self, verb: _Optional[_Union[SearchVerb, str]] = ..., key: _Optional[str] = ..., hyperparameters: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., until: _Optional[float] = ..., source: _Optional[str] = ..., share: _Optional[float] = ..., reason: _Optional[str] = ...) -> None: ...

class SearchRequest(_message.Message):
    __slots__ = ("experiment",)
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    experiment: str
    def __init__(self, experiment: _Optional[str] = ...) -> None: ...

class Secret(_message.Message):
    __slots__ = ("name", "workspace", "created_at", "changed_at", "by")
    NAME_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    CHANGED_AT_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    name: str
    workspace: str
    created_at: _timestamp_pb2.Timestamp
    changed_at: _timestamp_pb2.Timestamp
    by: str
    def __init__(self, name: _Optional[str] = ..., workspace: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., changed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., by: _Optional[str] = ...) -> None: ...

class SecretRequest(_message.Message):
    __slots__ = ("workspace", "secret")
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    SECRET_FIELD_NUMBER: _ClassVar[int]
    workspace: str
    secret: str
    def __init__(self, workspace: _Optional[str] = ..., secret: _Optional[str] = ...) -> None: ...

class Secrets(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Secret]
    def __init__(self, items: _Optional[_Iterable[_Union[Secret, _Mapping]]] = ...) -> None: ...

class ServiceCheck(_message.Message):
    __slots__ = ("service", "name", "ok", "reason", "since")
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    OK_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    service: str
    name: str
    ok: bool
    reason: str
    since: _timestamp_pb2.Timestamp
    def __init__(self, service: _Optional[str] = ..., name: _Optional[str] = ..., ok: _Optional[bool] = ..., reason: _Optional[str] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Session(_message.Message):
    __slots__ = ("id", "via", "address", "created_at", "used_at", "expires_at", "current")
    ID_FIELD_NUMBER: _ClassVar[int]
    VIA_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    USED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    CURRENT_FIELD_NUMBER: _ClassVar[int]
    id: str
    via: str
    address: str
    created_at: _timestamp_pb2.Timestamp
    used_at: _timestamp_pb2.Timestamp
    expires_at: _timestamp_pb2.Timestamp
    current: bool
    def __init__(self, id: _Optional[str] = ..., via: _Optional[str] = ..., address: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., used_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., current: _Optional[bool] = ...) -> None: ...

class SessionPage(_message.Message):
    __slots__ = ("items", "next_cursor")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Session]
    next_cursor: str
    def __init__(self, items: _Optional[_Iterable[_Union[Session, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class SessionRequest(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: str
    def __init__(self, session: _Optional[str] = ...) -> None: ...

class SessionsEnded(_message.Message):
    __slots__ = ("ended",)
    ENDED_FIELD_NUMBER: _ClassVar[int]
    ended: int
    def __init__(self, ended: _Optional[int] = ...) -> None: ...

class SetLimitRequest(_message.Message):
    __slots__ = ("pool", "tenant", "workspace", "guaranteed", "maximum", "weight")
    POOL_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    GUARANTEED_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    pool: str
    tenant: str
    workspace: str
    guaranteed: int
    maximum: int
    weight: float
    def __init__(self, pool: _Optional[str] = ..., tenant: _Optional[str] = ..., workspace: _Optional[str] = ..., guaranteed: _Optional[int] = ..., maximum: _Optional[int] = ..., weight: _Optional[float] = ...) -> None: ...

class SetModelAliasRequest(_message.Message):
    __slots__ = ("model", "alias", "version")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    ALIAS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    model: str
    alias: str
    version: str
    def __init__(self, model: _Optional[str] = ..., alias: _Optional[str] = ..., version: _Optional[str] = ...) -> None: ...

class SetModelStageRequest(_message.Message):
    __slots__ = ("model", "version", "stage", "reason")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    model: str
    version: str
    stage: ModelStage
    reason: str
    def __init__(self, model: _Optional[str] = ..., version: _Optional[str] = ..., stage: _Optional[_Union[ModelStage, str]] = ..., reason: _Optional[str] = ...) -> None: ...

class SetPasswordRequest(_message.Message):
    __slots__ = ("user", "password")
    USER_FIELD_NUMBER: _ClassVar[int]
    PASSWORD_FIELD_NUMBER: _ClassVar[int]
    user: str
    password: str
    def __init__(self, user: _Optional[str] = ..., password: _Optional[str] = ...) -> None: ...

class SetPolicyRequest(_message.Message):
    __slots__ = ("workspace", "invariant_config", "max_slots", "priority_limit")
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    INVARIANT_CONFIG_FIELD_NUMBER: _ClassVar[int]
    MAX_SLOTS_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_LIMIT_FIELD_NUMBER: _ClassVar[int]
    workspace: str
    invariant_config: _struct_pb2.Struct
    max_slots: int
    priority_limit: int
    def __init__(self, workspace: _Optional[str] = ..., invariant_config: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., max_slots: _Optional[int] = ..., priority_limit: _Optional[int] = ...) -> None: ...

class SetRetentionRequest(_message.Message):
    __slots__ = ("workspace", "metric_detail_days", "metric_retention_days", "log_retention_days")
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    METRIC_DETAIL_DAYS_FIELD_NUMBER: _ClassVar[int]
    METRIC_RETENTION_DAYS_FIELD_NUMBER: _ClassVar[int]
    LOG_RETENTION_DAYS_FIELD_NUMBER: _ClassVar[int]
    workspace: str
    metric_detail_days: int
    metric_retention_days: int
    log_retention_days: int
    def __init__(self, workspace: _Optional[str] = ..., metric_detail_days: _Optional[int] = ..., metric_retention_days: _Optional[int] = ..., log_retention_days: _Optional[int] = ...) -> None: ...

class SetSecretRequest(_message.Message):
    __slots__ = ("workspace", "secret", "secret_value")
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    SECRET_FIELD_NUMBER: _ClassVar[int]
    SECRET_VALUE_FIELD_NUMBER: _ClassVar[int]
    workspace: str
    secret: str
    secret_value: str
    def __init__(self, workspace: _Optional[str] = ..., secret: _Optional[str] = ..., secret_value: _Optional[str] = ...) -> None: ...

class SetStorageLimitRequest(_message.Message):
    __slots__ = ("tenant", "maximum_bytes")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_BYTES_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    maximum_bytes: int
    def __init__(self, tenant: _Optional[str] = ..., maximum_bytes: _Optional[int] = ...) -> None: ...

class SetTenantBudgetRequest(_message.Message):
    __slots__ = ("tenant", "per_month", "when_spent")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PER_MONTH_FIELD_NUMBER: _ClassVar[int]
    WHEN_SPENT_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    per_month: float
    when_spent: WhenSpent
    def __init__(self, tenant: _Optional[str] = ..., per_month: _Optional[float] = ..., when_spent: _Optional[_Union[WhenSpent, str]] = ...) -> None: ...

class SetTenantQuotaRequest(_message.Message):
    __slots__ = ("tenant", "max_experiments", "requests_per_s")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    MAX_EXPERIMENTS_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_PER_S_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    max_experiments: int
    requests_per_s: float
    def __init__(self, tenant: _Optional[str] = ..., max_experiments: _Optional[int] = ..., requests_per_s: _Optional[float] = ...) -> None: ...

class SetWorkspaceBudgetRequest(_message.Message):
    __slots__ = ("workspace", "per_month", "when_spent")
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    PER_MONTH_FIELD_NUMBER: _ClassVar[int]
    WHEN_SPENT_FIELD_NUMBER: _ClassVar[int]
    workspace: str
    per_month: float
    when_spent: WhenSpent
    def __init__(self, workspace: _Optional[str] = ..., per_month: _Optional[float] = ..., when_spent: _Optional[_Union[WhenSpent, str]] = ...) -> None: ...

class SetWorkspaceLimitRequest(_message.Message):
    __slots__ = ("pool", "workspace", "guaranteed", "maximum", "weight")
    POOL_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    GUARANTEED_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    pool: str
    workspace: str
    guaranteed: int
    maximum: int
    weight: float
    def __init__(self, pool: _Optional[str] = ..., workspace: _Optional[str] = ..., guaranteed: _Optional[int] = ..., maximum: _Optional[int] = ..., weight: _Optional[float] = ...) -> None: ...

class SetWorkspaceQuotaRequest(_message.Message):
    __slots__ = ("workspace", "max_experiments", "requests_per_s", "max_stored_bytes")
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    MAX_EXPERIMENTS_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_PER_S_FIELD_NUMBER: _ClassVar[int]
    MAX_STORED_BYTES_FIELD_NUMBER: _ClassVar[int]
    workspace: str
    max_experiments: int
    requests_per_s: float
    max_stored_bytes: int
    def __init__(self, workspace: _Optional[str] = ..., max_experiments: _Optional[int] = ..., requests_per_s: _Optional[float] = ..., max_stored_bytes: _Optional[int] = ...) -> None: ...

class SignInLink(_message.Message):
    __slots__ = ("id", "path", "secret", "expires_at")
    ID_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    SECRET_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    id: str
    path: str
    secret: str
    expires_at: _timestamp_pb2.Timestamp
    def __init__(self, id: _Optional[str] = ..., path: _Optional[str] = ..., secret: _Optional[str] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class SignInProvider(_message.Message):
    __slots__ = ("name", "label")
    NAME_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    name: str
    label: str
    def __init__(self, name: _Optional[str] = ..., label: _Optional[str] = ...) -> None: ...

class SignInRequest(_message.Message):
    __slots__ = ("tenant", "user", "password")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    PASSWORD_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    user: str
    password: str
    def __init__(self, tenant: _Optional[str] = ..., user: _Optional[str] = ..., password: _Optional[str] = ...) -> None: ...

class SignInWays(_message.Message):
    __slots__ = ("passwords", "providers")
    PASSWORDS_FIELD_NUMBER: _ClassVar[int]
    PROVIDERS_FIELD_NUMBER: _ClassVar[int]
    passwords: bool
    providers: _containers.RepeatedCompositeFieldContainer[SignInProvider]
    def __init__(self, passwords: _Optional[bool] = ..., providers: _Optional[_Iterable[_Union[SignInProvider, _Mapping]]] = ...) -> None: ...

class Signature(_message.Message):
    __slots__ = ("inputs", "outputs")
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    inputs: _containers.RepeatedCompositeFieldContainer[Tensor]
    outputs: _containers.RepeatedCompositeFieldContainer[Tensor]
    def __init__(self, inputs: _Optional[_Iterable[_Union[Tensor, _Mapping]]] = ..., outputs: _Optional[_Iterable[_Union[Tensor, _Mapping]]] = ...) -> None: ...

class SlotRequest(_message.Message):
    __slots__ = ("worker", "slot")
    WORKER_FIELD_NUMBER: _ClassVar[int]
    SLOT_FIELD_NUMBER: _ClassVar[int]
    worker: str
    slot: int
    def __init__(self, worker: _Optional[str] = ..., slot: _Optional[int] = ...) -> None: ...

class StageApproval(_message.Message):
    __slots__ = ("by", "at", "reason")
    BY_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    by: str
    at: _timestamp_pb2.Timestamp
    reason: str
    def __init__(self, by: _Optional[str] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., reason: _Optional[str] = ...) -> None: ...

class StageChange(_message.Message):
    __slots__ = ("stage", "by", "at", "reason", "approvals")
    STAGE_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    APPROVALS_FIELD_NUMBER: _ClassVar[int]
    stage: ModelStage
    by: str
    at: _timestamp_pb2.Timestamp
    reason: str
    approvals: _containers.RepeatedCompositeFieldContainer[StageApproval]
    def __init__(self, stage: _Optional[_Union[ModelStage, str]] = ..., by: _Optional[str] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., reason: _Optional[str] = ..., approvals: _Optional[_Iterable[_Union[StageApproval, _Mapping]]] = ...) -> None: ...

class StartSuggestion(_message.Message):
    __slots__ = ("code", "starts", "message", "command", "number", "pool")
    CODE_FIELD_NUMBER: _ClassVar[int]
    STARTS_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    code: str
    starts: str
    message: str
    command: str
    number: int
    pool: str
    def __init__(self, code: _Optional[str] = ..., starts: _Optional[str] = ..., message: _Optional[str] = ..., command: _Optional[str] = ..., number: _Optional[int] = ..., pool: _Optional[str] = ...) -> None: ...

class StartedSignIn(_message.Message):
    __slots__ = ("url", "ticket", "state", "expires_at")
    URL_FIELD_NUMBER: _ClassVar[int]
    TICKET_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    url: str
    ticket: str
    state: str
    expires_at: _timestamp_pb2.Timestamp
    def __init__(self, url: _Optional[str] = ..., ticket: _Optional[str] = ..., state: _Optional[str] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Storage(_message.Message):
    __slots__ = ("used_bytes", "maximum_bytes", "workspaces")
    USED_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_BYTES_FIELD_NUMBER: _ClassVar[int]
    WORKSPACES_FIELD_NUMBER: _ClassVar[int]
    used_bytes: int
    maximum_bytes: int
    workspaces: _containers.RepeatedCompositeFieldContainer[WorkspaceStorage]
    def __init__(self, used_bytes: _Optional[int] = ..., maximum_bytes: _Optional[int] = ..., workspaces: _Optional[_Iterable[_Union[WorkspaceStorage, _Mapping]]] = ...) -> None: ...

class StorageLimit(_message.Message):
    __slots__ = ("tenant", "maximum_bytes")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_BYTES_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    maximum_bytes: int
    def __init__(self, tenant: _Optional[str] = ..., maximum_bytes: _Optional[int] = ...) -> None: ...

class TableColumns(_message.Message):
    __slots__ = ("columns", "next_cursor")
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    columns: _containers.RepeatedScalarFieldContainer[str]
    next_cursor: str
    def __init__(self, columns: _Optional[_Iterable[str]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class TableColumnsRequest(_message.Message):
    __slots__ = ("experiment", "cursor")
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    experiment: str
    cursor: str
    def __init__(self, experiment: _Optional[str] = ..., cursor: _Optional[str] = ...) -> None: ...

class TableRow(_message.Message):
    __slots__ = ("trial", "experiment_number", "number", "state", "values")
    TRIAL_FIELD_NUMBER: _ClassVar[int]
    EXPERIMENT_NUMBER_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    trial: str
    experiment_number: int
    number: int
    state: str
    values: _struct_pb2.Struct
    def __init__(self, trial: _Optional[str] = ..., experiment_number: _Optional[int] = ..., number: _Optional[int] = ..., state: _Optional[str] = ..., values: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class TellSearchRequest(_message.Message):
    __slots__ = ("experiment", "operations", "acknowledge", "driver")
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    ACKNOWLEDGE_FIELD_NUMBER: _ClassVar[int]
    DRIVER_FIELD_NUMBER: _ClassVar[int]
    experiment: str
    operations: _containers.RepeatedCompositeFieldContainer[SearchOperation]
    acknowledge: int
    driver: str
    def __init__(self, experiment: _Optional[str] = ..., operations: _Optional[_Iterable[_Union[SearchOperation, _Mapping]]] = ..., acknowledge: _Optional[int] = ..., driver: _Optional[str] = ...) -> None: ...

class Template(_message.Message):
    __slots__ = ("name", "workspace", "description", "config", "changed_at", "by")
    NAME_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    CHANGED_AT_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    name: str
    workspace: str
    description: str
    config: _struct_pb2.Struct
    changed_at: _timestamp_pb2.Timestamp
    by: str
    def __init__(self, name: _Optional[str] = ..., workspace: _Optional[str] = ..., description: _Optional[str] = ..., config: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., changed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., by: _Optional[str] = ...) -> None: ...

class TemplatePage(_message.Message):
    __slots__ = ("items", "next_cursor")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Template]
    next_cursor: str
    def __init__(self, items: _Optional[_Iterable[_Union[Template, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class TemplateRequest(_message.Message):
    __slots__ = ("template",)
    TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    template: str
    def __init__(self, template: _Optional[str] = ...) -> None: ...

class Tenant(_message.Message):
    __slots__ = ("id", "name", "created_at")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    created_at: _timestamp_pb2.Timestamp
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class TenantPage(_message.Message):
    __slots__ = ("items", "next_cursor")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Tenant]
    next_cursor: str
    def __init__(self, items: _Optional[_Iterable[_Union[Tenant, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class Tensor(_message.Message):
    __slots__ = ("name", "dtype", "shape")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    name: str
    dtype: str
    shape: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, name: _Optional[str] = ..., dtype: _Optional[str] = ..., shape: _Optional[_Iterable[int]] = ...) -> None: ...

class Token(_message.Message):
    __slots__ = ("id", "name", "role", "created_at", "expires_at", "revoked_at", "user", "scope")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    REVOKED_AT_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    role: Role
    created_at: _timestamp_pb2.Timestamp
    expires_at: _timestamp_pb2.Timestamp
    revoked_at: _timestamp_pb2.Timestamp
    user: str
    scope: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., role: _Optional[_Union[Role, str]] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., revoked_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., user: _Optional[str] = ..., scope: _Optional[_Iterable[str]] = ...) -> None: ...

class TokenPage(_message.Message):
    __slots__ = ("items", "next_cursor")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Token]
    next_cursor: str
    def __init__(self, items: _Optional[_Iterable[_Union[Token, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class TokenRequest(_message.Message):
    __slots__ = ("token",)
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    token: str
    def __init__(self, token: _Optional[str] = ...) -> None: ...

class TokenSignInRequest(_message.Message):
    __slots__ = ("token",)
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    token: str
    def __init__(self, token: _Optional[str] = ...) -> None: ...

class Trial(_message.Message):
    __slots__ = ("id", "experiment", "experiment_number", "number", "state", "invalid", "finishing", "reason", "hyperparameters", "seed", "slots", "min_slots", "slot_fraction", "source", "start_checkpoint", "best", "latest", "runs", "final", "created_at", "ended_at", "version")
    ID_FIELD_NUMBER: _ClassVar[int]
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    EXPERIMENT_NUMBER_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    INVALID_FIELD_NUMBER: _ClassVar[int]
    FINISHING_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    HYPERPARAMETERS_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    MIN_SLOTS_FIELD_NUMBER: _ClassVar[int]
    SLOT_FRACTION_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    START_CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    BEST_FIELD_NUMBER: _ClassVar[int]
    LATEST_FIELD_NUMBER: _ClassVar[int]
    RUNS_FIELD_NUMBER: _ClassVar[int]
    FINAL_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    id: str
    experiment: str
    experiment_number: int
    number: int
    state: TrialState
    invalid: bool
    finishing: bool
    reason: str
    hyperparameters: _struct_pb2.Struct
    seed: int
    slots: int
    min_slots: int
    slot_fraction: float
    source: int
    start_checkpoint: str
    best: Measured
    latest: Measured
    runs: int
    final: bool
    created_at: _timestamp_pb2.Timestamp
    ended_at: _timestamp_pb2.Timestamp
    version: int
    def __init__(self, id: _Optional[str] = ..., experiment: _Optional[str] = ..., experiment_number: _Optional[int] = ..., number: _Optional[int] = ..., state: _Optional[_Union[TrialState, str]] = ..., invalid: _Optional[bool] = ..., finishing: _Optional[bool] = ..., reason: _Optional[str] = ..., hyperparameters: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., seed: _Optional[int] = ..., slots: _Optional[int] = ..., min_slots: _Optional[int] = ..., slot_fraction: _Optional[float] = ..., source: _Optional[int] = ..., start_checkpoint: _Optional[str] = ..., best: _Optional[_Union[Measured, _Mapping]] = ..., latest: _Optional[_Union[Measured, _Mapping]] = ..., runs: _Optional[int] = ..., final: _Optional[bool] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ended_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., version: _Optional[int] = ...) -> None: ...

class TrialMediaRequest(_message.Message):
    __slots__ = ("trial", "media")
    TRIAL_FIELD_NUMBER: _ClassVar[int]
    MEDIA_FIELD_NUMBER: _ClassVar[int]
    trial: str
    media: str
    def __init__(self, trial: _Optional[str] = ..., media: _Optional[str] = ...) -> None: ...

class TrialMetrics(_message.Message):
    __slots__ = ("trial", "series")
    TRIAL_FIELD_NUMBER: _ClassVar[int]
    SERIES_FIELD_NUMBER: _ClassVar[int]
    trial: str
    series: _containers.RepeatedCompositeFieldContainer[MetricSeries]
    def __init__(self, trial: _Optional[str] = ..., series: _Optional[_Iterable[_Union[MetricSeries, _Mapping]]] = ...) -> None: ...

class TrialMetricsRequest(_message.Message):
    __slots__ = ("trial", "name", "group", "max_points", "first_step", "last_step")
    TRIAL_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    MAX_POINTS_FIELD_NUMBER: _ClassVar[int]
    FIRST_STEP_FIELD_NUMBER: _ClassVar[int]
    LAST_STEP_FIELD_NUMBER: _ClassVar[int]
    trial: str
    name: _containers.RepeatedScalarFieldContainer[str]
    group: str
    max_points: int
    first_step: int
    last_step: int
    def __init__(self, trial: _Optional[str] = ..., name: _Optional[_Iterable[str]] = ..., group: _Optional[str] = ..., max_points: _Optional[int] = ..., first_step: _Optional[int] = ..., last_step: _Optional[int] = ...) -> None: ...

class TrialPage(_message.Message):
    __slots__ = ("items", "next_cursor")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Trial]
    next_cursor: str
    def __init__(self, items: _Optional[_Iterable[_Union[Trial, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class TrialPhases(_message.Message):
    __slots__ = ("trial", "trial_number", "state", "phases", "waiting_uploads")
    TRIAL_FIELD_NUMBER: _ClassVar[int]
    TRIAL_NUMBER_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    PHASES_FIELD_NUMBER: _ClassVar[int]
    WAITING_UPLOADS_FIELD_NUMBER: _ClassVar[int]
    trial: str
    trial_number: int
    state: TrialState
    phases: _containers.RepeatedCompositeFieldContainer[Phase]
    waiting_uploads: WaitingUploads
    def __init__(self, trial: _Optional[str] = ..., trial_number: _Optional[int] = ..., state: _Optional[_Union[TrialState, str]] = ..., phases: _Optional[_Iterable[_Union[Phase, _Mapping]]] = ..., waiting_uploads: _Optional[_Union[WaitingUploads, _Mapping]] = ...) -> None: ...

class TrialPhasesPage(_message.Message):
    __slots__ = ("items", "next_cursor")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[TrialPhases]
    next_cursor: str
    def __init__(self, items: _Optional[_Iterable[_Union[TrialPhases, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class TrialRequest(_message.Message):
    __slots__ = ("trial",)
    TRIAL_FIELD_NUMBER: _ClassVar[int]
    trial: str
    def __init__(self, trial: _Optional[str] = ...) -> None: ...

class TrialTable(_message.Message):
    __slots__ = ("columns", "items", "total", "next_cursor")
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    columns: _containers.RepeatedScalarFieldContainer[str]
    items: _containers.RepeatedCompositeFieldContainer[TableRow]
    total: int
    next_cursor: str
    def __init__(self, columns: _Optional[_Iterable[str]] = ..., items: _Optional[_Iterable[_Union[TableRow, _Mapping]]] = ..., total: _Optional[int] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class TrialTableRequest(_message.Message):
    __slots__ = ("limit", "cursor", "experiment", "filter", "sort", "column")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    SORT_FIELD_NUMBER: _ClassVar[int]
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    experiment: str
    filter: str
    sort: str
    column: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ..., experiment: _Optional[str] = ..., filter: _Optional[str] = ..., sort: _Optional[str] = ..., column: _Optional[_Iterable[str]] = ...) -> None: ...

class UpdateMachinePoolRequest(_message.Message):
    __slots__ = ("kinds", "zones", "order", "minimum", "maximum", "maximum_slots", "reserve_slots", "spot_share", "on_demand_slots", "falls_back", "moves_runs", "batching_window_s", "idle_timeout_s", "join_timeout_s", "budget_per_month", "labels", "pool")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    KINDS_FIELD_NUMBER: _ClassVar[int]
    ZONES_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    MINIMUM_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_SLOTS_FIELD_NUMBER: _ClassVar[int]
    RESERVE_SLOTS_FIELD_NUMBER: _ClassVar[int]
    SPOT_SHARE_FIELD_NUMBER: _ClassVar[int]
    ON_DEMAND_SLOTS_FIELD_NUMBER: _ClassVar[int]
    FALLS_BACK_FIELD_NUMBER: _ClassVar[int]
    MOVES_RUNS_FIELD_NUMBER: _ClassVar[int]
    BATCHING_WINDOW_S_FIELD_NUMBER: _ClassVar[int]
    IDLE_TIMEOUT_S_FIELD_NUMBER: _ClassVar[int]
    JOIN_TIMEOUT_S_FIELD_NUMBER: _ClassVar[int]
    BUDGET_PER_MONTH_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    kinds: _containers.RepeatedScalarFieldContainer[str]
    zones: _containers.RepeatedScalarFieldContainer[str]
    order: OfferOrder
    minimum: int
    maximum: int
    maximum_slots: int
    reserve_slots: int
    spot_share: float
    on_demand_slots: int
    falls_back: bool
    moves_runs: bool
    batching_window_s: float
    idle_timeout_s: float
    join_timeout_s: float
    budget_per_month: float
    labels: _containers.ScalarMap[str, str]
    pool: str
    def __init__(self, kinds: _Optional[_Iterable[str]] = ..., zones: _Optional[_Iterable[str]] = ..., order: _Optional[_Union[OfferOrder, str]] = ..., minimum: _Optional[int] = ..., maximum: _Optional[int] = ..., maximum_slots: _Optional[int] = ..., reserve_slots: _Optional[int] = ..., spot_share: _Optional[float] = ..., on_demand_slots: _Optional[int] = ..., falls_back: _Optional[bool] = ..., moves_runs: _Optional[bool] = ..., batching_window_s: _Optional[float] = ..., idle_timeout_s: _Optional[float] = ..., join_timeout_s: _Optional[float] = ..., budget_per_month: _Optional[float] = ..., labels: _Optional[_Mapping[str, str]] = ..., pool: _Optional[str] = ...) -> None: ...

class Usage(_message.Message):
    __slots__ = ("since", "until", "by", "by_label", "items", "slot_seconds", "cost", "unpriced_slot_seconds")
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    BY_LABEL_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    SLOT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    UNPRICED_SLOT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    since: _timestamp_pb2.Timestamp
    until: _timestamp_pb2.Timestamp
    by: _containers.RepeatedScalarFieldContainer[UsageKey]
    by_label: bool
    items: _containers.RepeatedCompositeFieldContainer[UsageRow]
    slot_seconds: float
    cost: float
    unpriced_slot_seconds: float
    def __init__(self, since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., by: _Optional[_Iterable[_Union[UsageKey, str]]] = ..., by_label: _Optional[bool] = ..., items: _Optional[_Iterable[_Union[UsageRow, _Mapping]]] = ..., slot_seconds: _Optional[float] = ..., cost: _Optional[float] = ..., unpriced_slot_seconds: _Optional[float] = ...) -> None: ...

class UsageRequest(_message.Message):
    __slots__ = ("by", "by_label", "since", "until", "days")
    BY_FIELD_NUMBER: _ClassVar[int]
    BY_LABEL_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    DAYS_FIELD_NUMBER: _ClassVar[int]
    by: _containers.RepeatedScalarFieldContainer[UsageKey]
    by_label: bool
    since: _timestamp_pb2.Timestamp
    until: _timestamp_pb2.Timestamp
    days: int
    def __init__(self, by: _Optional[_Iterable[_Union[UsageKey, str]]] = ..., by_label: _Optional[bool] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., days: _Optional[int] = ...) -> None: ...

class UsageRow(_message.Message):
    __slots__ = ("day", "tenant", "workspace", "user", "experiment", "experiment_name", "pool", "label", "slot_seconds", "cost", "unpriced_slot_seconds")
    DAY_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    EXPERIMENT_NAME_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    SLOT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    UNPRICED_SLOT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    day: str
    tenant: str
    workspace: str
    user: str
    experiment: int
    experiment_name: str
    pool: str
    label: str
    slot_seconds: float
    cost: float
    unpriced_slot_seconds: float
    def __init__(self, day: _Optional[str] = ..., tenant: _Optional[str] = ..., workspace: _Optional[str] = ..., user: _Optional[str] = ..., experiment: _Optional[int] = ..., experiment_name: _Optional[str] = ..., pool: _Optional[str] = ..., label: _Optional[str] = ..., slot_seconds: _Optional[float] = ..., cost: _Optional[float] = ..., unpriced_slot_seconds: _Optional[float] = ...) -> None: ...

class User(_message.Message):
    __slots__ = ("id", "name", "kind", "display_name", "groups", "created_at", "disabled_at")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    DISPLAY_NAME_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    DISABLED_AT_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    kind: UserKind
    display_name: str
    groups: _containers.RepeatedScalarFieldContainer[str]
    created_at: _timestamp_pb2.Timestamp
    disabled_at: _timestamp_pb2.Timestamp
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., kind: _Optional[_Union[UserKind, str]] = ..., display_name: _Optional[str] = ..., groups: _Optional[_Iterable[str]] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., disabled_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class UserPage(_message.Message):
    __slots__ = ("items", "next_cursor")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[User]
    next_cursor: str
    def __init__(self, items: _Optional[_Iterable[_Union[User, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class UserRequest(_message.Message):
    __slots__ = ("user",)
    USER_FIELD_NUMBER: _ClassVar[int]
    user: str
    def __init__(self, user: _Optional[str] = ...) -> None: ...

class VerificationAsked(_message.Message):
    __slots__ = ("checkpoints", "files", "size_bytes")
    CHECKPOINTS_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    checkpoints: int
    files: int
    size_bytes: int
    def __init__(self, checkpoints: _Optional[int] = ..., files: _Optional[int] = ..., size_bytes: _Optional[int] = ...) -> None: ...

class VerifyAuditRequest(_message.Message):
    __slots__ = ("after",)
    AFTER_FIELD_NUMBER: _ClassVar[int]
    after: int
    def __init__(self, after: _Optional[int] = ...) -> None: ...

class VerifyCheckpointsRequest(_message.Message):
    __slots__ = ("experiment", "waiting")
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    experiment: str
    waiting: bool
    def __init__(self, experiment: _Optional[str] = ..., waiting: _Optional[bool] = ...) -> None: ...

class ViewRequest(_message.Message):
    __slots__ = ("view",)
    VIEW_FIELD_NUMBER: _ClassVar[int]
    view: str
    def __init__(self, view: _Optional[str] = ...) -> None: ...

class WaitingUploads(_message.Message):
    __slots__ = ("checkpoints", "since", "reason")
    CHECKPOINTS_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    checkpoints: int
    since: _timestamp_pb2.Timestamp
    reason: str
    def __init__(self, checkpoints: _Optional[int] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., reason: _Optional[str] = ...) -> None: ...

class WatchEventsRequest(_message.Message):
    __slots__ = ("after", "kind", "experiment")
    AFTER_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    after: str
    kind: _containers.RepeatedScalarFieldContainer[EventKind]
    experiment: str
    def __init__(self, after: _Optional[str] = ..., kind: _Optional[_Iterable[_Union[EventKind, str]]] = ..., experiment: _Optional[str] = ...) -> None: ...

class WatchMachineEventsRequest(_message.Message):
    __slots__ = ("after", "kind", "pool")
    AFTER_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    after: str
    kind: _containers.RepeatedScalarFieldContainer[MachineEventKind]
    pool: str
    def __init__(self, after: _Optional[str] = ..., kind: _Optional[_Iterable[_Union[MachineEventKind, str]]] = ..., pool: _Optional[str] = ...) -> None: ...

class Webhook(_message.Message):
    __slots__ = ("id", "name", "origin", "form", "events", "labels", "workspace", "project", "enabled", "waiting", "dead", "previous_secret_until", "created_at", "by")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    FORM_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    DEAD_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_SECRET_UNTIL_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    origin: str
    form: WebhookForm
    events: _containers.RepeatedScalarFieldContainer[str]
    labels: _containers.RepeatedScalarFieldContainer[str]
    workspace: str
    project: str
    enabled: bool
    waiting: int
    dead: int
    previous_secret_until: _timestamp_pb2.Timestamp
    created_at: _timestamp_pb2.Timestamp
    by: str
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., origin: _Optional[str] = ..., form: _Optional[_Union[WebhookForm, str]] = ..., events: _Optional[_Iterable[str]] = ..., labels: _Optional[_Iterable[str]] = ..., workspace: _Optional[str] = ..., project: _Optional[str] = ..., enabled: _Optional[bool] = ..., waiting: _Optional[int] = ..., dead: _Optional[int] = ..., previous_secret_until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., by: _Optional[str] = ...) -> None: ...

class WebhookDelivery(_message.Message):
    __slots__ = ("id", "type", "event", "state", "attempts", "is_test", "status", "error", "created_at", "next_attempt_at", "ended_at")
    ID_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    IS_TEST_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    NEXT_ATTEMPT_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    id: str
    type: str
    event: str
    state: DeliveryState
    attempts: int
    is_test: bool
    status: int
    error: str
    created_at: _timestamp_pb2.Timestamp
    next_attempt_at: _timestamp_pb2.Timestamp
    ended_at: _timestamp_pb2.Timestamp
    def __init__(self, id: _Optional[str] = ..., type: _Optional[str] = ..., event: _Optional[str] = ..., state: _Optional[_Union[DeliveryState, str]] = ..., attempts: _Optional[int] = ..., is_test: _Optional[bool] = ..., status: _Optional[int] = ..., error: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., next_attempt_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ended_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class WebhookDeliveryPage(_message.Message):
    __slots__ = ("items", "next_cursor")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[WebhookDelivery]
    next_cursor: str
    def __init__(self, items: _Optional[_Iterable[_Union[WebhookDelivery, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class WebhookDeliveryRequest(_message.Message):
    __slots__ = ("webhook", "delivery")
    WEBHOOK_FIELD_NUMBER: _ClassVar[int]
    DELIVERY_FIELD_NUMBER: _ClassVar[int]
    webhook: str
    delivery: str
    def __init__(self, webhook: _Optional[str] = ..., delivery: _Optional[str] = ...) -> None: ...

class WebhookPage(_message.Message):
    __slots__ = ("items", "next_cursor")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Webhook]
    next_cursor: str
    def __init__(self, items: _Optional[_Iterable[_Union[Webhook, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class WebhookReplay(_message.Message):
    __slots__ = ("deliveries",)
    DELIVERIES_FIELD_NUMBER: _ClassVar[int]
    deliveries: int
    def __init__(self, deliveries: _Optional[int] = ...) -> None: ...

class WebhookRequest(_message.Message):
    __slots__ = ("webhook",)
    WEBHOOK_FIELD_NUMBER: _ClassVar[int]
    webhook: str
    def __init__(self, webhook: _Optional[str] = ...) -> None: ...

class WorkQuota(_message.Message):
    __slots__ = ("tenant", "workspace", "max_experiments", "requests_per_s", "max_stored_bytes", "changed_at", "by", "warnings")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    MAX_EXPERIMENTS_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_PER_S_FIELD_NUMBER: _ClassVar[int]
    MAX_STORED_BYTES_FIELD_NUMBER: _ClassVar[int]
    CHANGED_AT_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    workspace: str
    max_experiments: int
    requests_per_s: float
    max_stored_bytes: int
    changed_at: _timestamp_pb2.Timestamp
    by: str
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, tenant: _Optional[str] = ..., workspace: _Optional[str] = ..., max_experiments: _Optional[int] = ..., requests_per_s: _Optional[float] = ..., max_stored_bytes: _Optional[int] = ..., changed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., by: _Optional[str] = ..., warnings: _Optional[_Iterable[str]] = ...) -> None: ...

class WorkQuotas(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[WorkQuota]
    def __init__(self, items: _Optional[_Iterable[_Union[WorkQuota, _Mapping]]] = ...) -> None: ...

class Worker(_message.Message):
    __slots__ = ("id", "pool", "state", "slots", "used_slots", "slot_kind", "isolated_user", "machine", "isolation", "isolation_detail", "last_heartbeat_at", "labels", "disabled_slots", "trouble")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    USED_SLOTS_FIELD_NUMBER: _ClassVar[int]
    SLOT_KIND_FIELD_NUMBER: _ClassVar[int]
    ISOLATED_USER_FIELD_NUMBER: _ClassVar[int]
    MACHINE_FIELD_NUMBER: _ClassVar[int]
    ISOLATION_FIELD_NUMBER: _ClassVar[int]
    ISOLATION_DETAIL_FIELD_NUMBER: _ClassVar[int]
    LAST_HEARTBEAT_AT_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    DISABLED_SLOTS_FIELD_NUMBER: _ClassVar[int]
    TROUBLE_FIELD_NUMBER: _ClassVar[int]
    id: str
    pool: str
    state: str
    slots: int
    used_slots: int
    slot_kind: str
    isolated_user: bool
    machine: str
    isolation: str
    isolation_detail: str
    last_heartbeat_at: _timestamp_pb2.Timestamp
    labels: _containers.ScalarMap[str, str]
    disabled_slots: _containers.RepeatedScalarFieldContainer[int]
    trouble: str
    def __init__(self, id: _Optional[str] = ..., pool: _Optional[str] = ..., state: _Optional[str] = ..., slots: _Optional[int] = ..., used_slots: _Optional[int] = ..., slot_kind: _Optional[str] = ..., isolated_user: _Optional[bool] = ..., machine: _Optional[str] = ..., isolation: _Optional[str] = ..., isolation_detail: _Optional[str] = ..., last_heartbeat_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., labels: _Optional[_Mapping[str, str]] = ..., disabled_slots: _Optional[_Iterable[int]] = ..., trouble: _Optional[str] = ...) -> None: ...

class WorkerCredentials(_message.Message):
    __slots__ = ("worker", "jwt", "nats_url", "expires_at", "warning")
    WORKER_FIELD_NUMBER: _ClassVar[int]
    JWT_FIELD_NUMBER: _ClassVar[int]
    NATS_URL_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    WARNING_FIELD_NUMBER: _ClassVar[int]
    worker: str
    jwt: str
    nats_url: str
    expires_at: _timestamp_pb2.Timestamp
    warning: str
    def __init__(self, worker: _Optional[str] = ..., jwt: _Optional[str] = ..., nats_url: _Optional[str] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., warning: _Optional[str] = ...) -> None: ...

class WorkerPage(_message.Message):
    __slots__ = ("items", "next_cursor")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Worker]
    next_cursor: str
    def __init__(self, items: _Optional[_Iterable[_Union[Worker, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class WorkerRequest(_message.Message):
    __slots__ = ("worker",)
    WORKER_FIELD_NUMBER: _ClassVar[int]
    worker: str
    def __init__(self, worker: _Optional[str] = ...) -> None: ...

class WorkersRequest(_message.Message):
    __slots__ = ("labels", "pool")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    LABELS_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    labels: _containers.ScalarMap[str, str]
    pool: str
    def __init__(self, labels: _Optional[_Mapping[str, str]] = ..., pool: _Optional[str] = ...) -> None: ...

class WorkspaceStorage(_message.Message):
    __slots__ = ("workspace", "used_bytes", "maximum_bytes")
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    USED_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_BYTES_FIELD_NUMBER: _ClassVar[int]
    workspace: str
    used_bytes: int
    maximum_bytes: int
    def __init__(self, workspace: _Optional[str] = ..., used_bytes: _Optional[int] = ..., maximum_bytes: _Optional[int] = ...) -> None: ...
