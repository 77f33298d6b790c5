"""Table of all operations of the public API, the source of REST, gRPC, OpenAPI and the proto file. A new resource adds its folder's `OPERATIONS`."""

from collections.abc import Mapping

from services.gateway.audit_log.operations import OPERATIONS as AUDIT_LOG
from services.gateway.budgets.operations import OPERATIONS as BUDGETS
from services.gateway.bulk_actions.operations import OPERATIONS as BULK_ACTIONS
from services.gateway.checkpoints.operations import OPERATIONS as CHECKPOINTS
from services.gateway.cluster.operations import OPERATIONS as CLUSTER
from services.gateway.code.operations import OPERATIONS as CODE
from services.gateway.deletions.operations import OPERATIONS as DELETIONS
from services.gateway.events.operations import OPERATIONS as EVENTS
from services.gateway.experiment_groups.operations import OPERATIONS as EXPERIMENT_GROUPS
from services.gateway.experiment_plans.operations import OPERATIONS as PLANS
from services.gateway.experiments.operations import OPERATIONS as EXPERIMENTS
from services.gateway.exports.operations import OPERATIONS as EXPORTS
from services.gateway.health.operations import OPERATIONS as HEALTH
from services.gateway.joining.operations import OPERATIONS as JOINING
from services.gateway.lineage.operations import OPERATIONS as LINEAGE
from services.gateway.logs.operations import OPERATIONS as LOGS
from services.gateway.long_operations.operations import OPERATIONS as LONG_OPERATIONS
from services.gateway.machine_pools.operations import OPERATIONS as MACHINE_POOLS
from services.gateway.media.operations import OPERATIONS as MEDIA
from services.gateway.metrics.operations import OPERATIONS as METRICS
from services.gateway.model_versions.operations import OPERATIONS as MODEL_VERSIONS
from services.gateway.models.operations import OPERATIONS as MODELS
from services.gateway.platform.commands.outcomes import OperationOutcome
from services.gateway.platform.operation import Operation
from services.gateway.policies.operations import OPERATIONS as POLICIES
from services.gateway.pools.operations import OPERATIONS as POOLS
from services.gateway.quotas.operations import OPERATIONS as QUOTAS
from services.gateway.reservations.operations import OPERATIONS as RESERVATIONS
from services.gateway.retention.operations import OPERATIONS as RETENTION
from services.gateway.roles.operations import OPERATIONS as ROLES
from services.gateway.saved_views.operations import OPERATIONS as VIEWS
from services.gateway.searches.operations import OPERATIONS as SEARCHES
from services.gateway.sessions.operations import OPERATIONS as SESSIONS
from services.gateway.tenants.operations import OPERATIONS as TENANTS
from services.gateway.tokens.operations import OPERATIONS as TOKENS
from services.gateway.trial_phases.operations import OPERATIONS as PHASES
from services.gateway.trial_tables.operations import OPERATIONS as TRIAL_TABLES
from services.gateway.trials.operations import OPERATIONS as TRIALS
from services.gateway.usage.operations import OPERATIONS as USAGE
from services.gateway.user_secrets.operations import OPERATIONS as USER_SECRETS
from services.gateway.users.operations import OPERATIONS as PEOPLE
from services.gateway.webhooks.operations import OPERATIONS as WEBHOOKS

OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    *EXPERIMENTS,
    *EXPERIMENT_GROUPS,
    *BULK_ACTIONS,
    *DELETIONS,
    *PLANS,
    *POLICIES,
    *SEARCHES,
    *TRIALS,
    *TRIAL_TABLES,
    *PHASES,
    *METRICS,
    *EXPORTS,
    *RETENTION,
    *LOGS,
    *MEDIA,
    *CHECKPOINTS,
    *CODE,
    *MODELS,
    *MODEL_VERSIONS,
    *LINEAGE,
    *CLUSTER,
    *POOLS,
    *QUOTAS,
    *BUDGETS,
    *RESERVATIONS,
    *MACHINE_POOLS,
    *USAGE,
    *EVENTS,
    *HEALTH,
    *LONG_OPERATIONS,
    *WEBHOOKS,
    *USER_SECRETS,
    *TOKENS,
    *JOINING,
    *SESSIONS,
    *VIEWS,
    *PEOPLE,
    *ROLES,
    *TENANTS,
    *AUDIT_LOG,
)

OUTCOMES: Mapping[str, OperationOutcome] = {
    row.name: row.outcome for row in OPERATIONS if row.outcome is not None
}
"""Checks that long operations took effect, by operation name."""
