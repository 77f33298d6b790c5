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
        experiments: Experiments: create, follow, steer and list them. A reference is a number or an id.
        bulk: Experiments by the dozen: named, or chosen by a filter after a look at what it meets.
        trials: Trials with their runs, metrics and logs. A reference is an id, or `31.4`: trial 4 of experiment 31.
        exports: Metrics in bulk, as Arrow and Parquet.
        media: Images, tables, texts and histograms of trials, and the event files that their scripts wrote for
            TensorBoard.
        checkpoints: Saved states of trials.
        models: Registered models and their versions. A reference is a name, `workspace/name` or an id, a version's a
            number, an alias, or `latest`.
        cluster: Workers, pools, instances and the queue: the machines and who waits for them.
        machines: Rented machines: pools of them, what can be rented, and what it has cost.
        templates: Parts of configs under a name, over which a config is laid.
        policies: What experiments' configs are held to.
        operations: One's own operations of the last day that took longer than their request waited.
        quotas: How many experiments may be open at once, how many requests a second may be sent, and what a workspace
            may store.
        budgets: What is spent in a month, and may be.
        users: People and service accounts of one's tenant, and their tokens.
        groups: Users who are given roles together.
        roles: Sets of permissions, and who was given them where.
        tenants: The tenants of a site, for who keeps it.
        workspaces: Workspaces: names that experiments, models, roles and rules stand under.
        audit: Who did what in one's tenant, or, with `site`, to the site; and the proof that nothing of it was
            changed.
        views: One's own named places of the dashboard.
        webhooks: Addresses that are sent what happens in a tenant, a workspace or a project, and what became of each
            event.
        sessions: Sign-ins of people: how they begin, which there are, and how they end.
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
        self.audit = AsyncAudit(resources.audit, pool)
        self.views = AsyncViews(resources.views, pool)
        self.webhooks = AsyncWebhooks(resources.webhooks, pool)
        self.sessions = AsyncSessions(resources.sessions, pool)
