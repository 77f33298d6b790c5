"""The nouns of the client. Generated from the gateway's table of operations by `make gen`."""

from concurrent.futures import ThreadPoolExecutor

from muster.client.http.transport import Transport
from muster.client.nouns.audit import AsyncAudit, Audit
from muster.client.nouns.budgets import AsyncBudgets, Budgets
from muster.client.nouns.bulk import AsyncBulk, Bulk
from muster.client.nouns.checkpoints import AsyncCheckpoints, Checkpoints
from muster.client.nouns.cluster import AsyncCluster, Cluster
from muster.client.nouns.experiments import AsyncExperiments, Experiments
from muster.client.nouns.exports import AsyncExports, Exports
from muster.client.nouns.groups import AsyncGroups, Groups
from muster.client.nouns.machines import AsyncMachines, Machines
from muster.client.nouns.media import AsyncMedia, Media
from muster.client.nouns.models import AsyncModels, Models
from muster.client.nouns.operations import AsyncOperations, Operations
from muster.client.nouns.policies import AsyncPolicies, Policies
from muster.client.nouns.quotas import AsyncQuotas, Quotas
from muster.client.nouns.roles import AsyncRoles, Roles
from muster.client.nouns.sessions import AsyncSessions, Sessions
from muster.client.nouns.templates import AsyncTemplates, Templates
from muster.client.nouns.tenants import AsyncTenants, Tenants
from muster.client.nouns.trials import AsyncTrials, Trials
from muster.client.nouns.users import AsyncUsers, Users
from muster.client.nouns.views import AsyncViews, Views
from muster.client.nouns.webhooks import AsyncWebhooks, Webhooks
from muster.client.nouns.workspaces import AsyncWorkspaces, Workspaces


class Nouns:
    """Each noun under its name.

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


class AsyncNouns:
    """`Nouns`, awaited."""

    def __init__(self, nouns: Nouns, pool: ThreadPoolExecutor) -> None:
        self.experiments = AsyncExperiments(nouns.experiments, pool)
        self.bulk = AsyncBulk(nouns.bulk, pool)
        self.trials = AsyncTrials(nouns.trials, pool)
        self.exports = AsyncExports(nouns.exports, pool)
        self.media = AsyncMedia(nouns.media, pool)
        self.checkpoints = AsyncCheckpoints(nouns.checkpoints, pool)
        self.models = AsyncModels(nouns.models, pool)
        self.cluster = AsyncCluster(nouns.cluster, pool)
        self.machines = AsyncMachines(nouns.machines, pool)
        self.templates = AsyncTemplates(nouns.templates, pool)
        self.policies = AsyncPolicies(nouns.policies, pool)
        self.operations = AsyncOperations(nouns.operations, pool)
        self.quotas = AsyncQuotas(nouns.quotas, pool)
        self.budgets = AsyncBudgets(nouns.budgets, pool)
        self.users = AsyncUsers(nouns.users, pool)
        self.groups = AsyncGroups(nouns.groups, pool)
        self.roles = AsyncRoles(nouns.roles, pool)
        self.tenants = AsyncTenants(nouns.tenants, pool)
        self.workspaces = AsyncWorkspaces(nouns.workspaces, pool)
        self.audit = AsyncAudit(nouns.audit, pool)
        self.views = AsyncViews(nouns.views, pool)
        self.webhooks = AsyncWebhooks(nouns.webhooks, pool)
        self.sessions = AsyncSessions(nouns.sessions, pool)
