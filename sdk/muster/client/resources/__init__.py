"""The resources of the client. Generated from the gateway's table of operations by `make gen`."""

from concurrent.futures import ThreadPoolExecutor

from muster.client.http.transport import Transport
from muster.client.resources.audit import AsyncAudit, Audit
from muster.client.resources.budgets import AsyncBudgets, Budgets
from muster.client.resources.bulk import AsyncBulk, Bulk
from muster.client.resources.checkpoints import AsyncCheckpoints, Checkpoints
from muster.client.resources.cluster import AsyncCluster, Cluster
from muster.client.resources.experiments import AsyncExperiments, Experiments
from muster.client.resources.exports import AsyncExports, Exports
from muster.client.resources.groups import AsyncGroups, Groups
from muster.client.resources.machines import AsyncMachines, Machines
from muster.client.resources.media import AsyncMedia, Media
from muster.client.resources.models import AsyncModels, Models
from muster.client.resources.operations import AsyncOperations, Operations
from muster.client.resources.policies import AsyncPolicies, Policies
from muster.client.resources.quotas import AsyncQuotas, Quotas
from muster.client.resources.roles import AsyncRoles, Roles
from muster.client.resources.secrets import AsyncSecrets, Secrets
from muster.client.resources.sessions import AsyncSessions, Sessions
from muster.client.resources.templates import AsyncTemplates, Templates
from muster.client.resources.tenants import AsyncTenants, Tenants
from muster.client.resources.trials import AsyncTrials, Trials
from muster.client.resources.users import AsyncUsers, Users
from muster.client.resources.views import AsyncViews, Views
from muster.client.resources.webhooks import AsyncWebhooks, Webhooks
from muster.client.resources.workspaces import AsyncWorkspaces, Workspaces


class Resources:
    """The resources of a client.

    Attributes:
        experiments: Experiments: create, list, follow and control them. A reference is a number or an id.
        bulk: Bulk actions on experiments, selected by reference or by a previewed filter.
        trials: Trials with their runs, metrics and logs. A reference is an id, or `31.4` for trial 4 of experiment
            31.
        exports: Bulk exports of metrics and trial tables, as Arrow or Parquet.
        media: Images, tables, texts and histograms of trials, and TensorBoard event files written by scripts.
        checkpoints: Checkpoints of trials.
        models: Registered models and their versions. A model reference is a name, `workspace/name` or an id; a
            version reference is a number, an alias or `latest`.
        cluster: The cluster: workers, pools, instances, limits, reservations, usage and the queue.
        machines: Rented machines: pools, available machine types, and costs.
        templates: Templates: named partial configs that configs are merged into.
        policies: Policies that limit or override experiment configs.
        operations: Your long-running operations of the last day.
        quotas: Quotas on open experiments, requests per second, and stored bytes of workspaces.
        budgets: Monthly budgets and spending.
        users: Users and service accounts of your tenant, and their tokens.
        groups: Groups of users that share roles.
        roles: Roles (sets of permissions) and role bindings.
        tenants: Tenants of a site; needs site administrator rights.
        workspaces: Workspaces, which contain experiments, models, roles and rules.
        secrets: Secrets of workspaces, which runs get as environment variables or files. Values can be set, but not
            read.
        audit: The audit log of your tenant, or of the site with `site`, and its verification.
        views: Your saved views of the dashboard.
        webhooks: Webhooks, which send events of a tenant, workspace or project to other systems, and their
            deliveries.
        sessions: Sign-in sessions of users: create, list and revoke them.
    """

    def __init__(self, transport: Transport) -> None:
        self.experiments = Experiments(transport)
        self.bulk = Bulk(transport)
        self.trials = Trials(transport)
        self.exports = Exports(transport)
        self.media = Media(transport)
        self.checkpoints = Checkpoints(transport)
        self.models = Models(transport)
        self.cluster = Cluster(transport)
        self.machines = Machines(transport)
        self.templates = Templates(transport)
        self.policies = Policies(transport)
        self.operations = Operations(transport)
        self.quotas = Quotas(transport)
        self.budgets = Budgets(transport)
        self.users = Users(transport)
        self.groups = Groups(transport)
        self.roles = Roles(transport)
        self.tenants = Tenants(transport)
        self.workspaces = Workspaces(transport)
        self.secrets = Secrets(transport)
        self.audit = Audit(transport)
        self.views = Views(transport)
        self.webhooks = Webhooks(transport)
        self.sessions = Sessions(transport)


class AsyncResources:
    """`Resources`, awaited."""

    def __init__(self, resources: Resources, pool: ThreadPoolExecutor) -> None:
        self.experiments = AsyncExperiments(resources.experiments, pool)
        self.bulk = AsyncBulk(resources.bulk, pool)
        self.trials = AsyncTrials(resources.trials, pool)
        self.exports = AsyncExports(resources.exports, pool)
        self.media = AsyncMedia(resources.media, pool)
        self.checkpoints = AsyncCheckpoints(resources.checkpoints, pool)
        self.models = AsyncModels(resources.models, pool)
        self.cluster = AsyncCluster(resources.cluster, pool)
        self.machines = AsyncMachines(resources.machines, pool)
        self.templates = AsyncTemplates(resources.templates, pool)
        self.policies = AsyncPolicies(resources.policies, pool)
        self.operations = AsyncOperations(resources.operations, pool)
        self.quotas = AsyncQuotas(resources.quotas, pool)
        self.budgets = AsyncBudgets(resources.budgets, pool)
        self.users = AsyncUsers(resources.users, pool)
        self.groups = AsyncGroups(resources.groups, pool)
        self.roles = AsyncRoles(resources.roles, pool)
        self.tenants = AsyncTenants(resources.tenants, pool)
        self.workspaces = AsyncWorkspaces(resources.workspaces, pool)
        self.secrets = AsyncSecrets(resources.secrets, pool)
        self.audit = AsyncAudit(resources.audit, pool)
        self.views = AsyncViews(resources.views, pool)
        self.webhooks = AsyncWebhooks(resources.webhooks, pool)
        self.sessions = AsyncSessions(resources.sessions, pool)
