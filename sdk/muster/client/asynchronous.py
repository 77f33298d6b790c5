"""The client for programs that are `async`: the nouns and verbs of `Client`, each derived from it by one line.

async with connect_async() as client:
    made = await client.experiments.create(config, folder)
    async for line in client.experiments.follow_logs(made.number):
        print(line.text)
"""

from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self

from muster.client.access import Groups, Roles, Tenants, Users
from muster.client.audit import AsyncAudit
from muster.client.awaited import AsyncNoun, awaited, listed, streamed
from muster.client.bulk import AsyncBulk
from muster.client.catalogue import Models
from muster.client.checkpoints import Checkpoints
from muster.client.client import Client, connect
from muster.client.cluster import Cluster
from muster.client.experiments import Experiments
from muster.client.exports import Exports
from muster.client.machines import AsyncMachines
from muster.client.media import Media
from muster.client.operations import Operations
from muster.client.policies import AsyncBudgets, AsyncPolicies, AsyncQuotas, AsyncTemplates
from muster.client.searches import AsyncSearch
from muster.client.sessions import AsyncSessions
from muster.client.settings import Address
from muster.client.transport import Reference
from muster.client.trials import Trials
from muster.client.views import AsyncViews
from muster.client.webhooks import AsyncWebhooks
from muster.client.workspaces import AsyncWorkspaces

THREADS = 64
"""So many calls and streams are under way at once; further ones wait."""


class AsyncExperiments(AsyncNoun[Experiments]):
    """`Experiments`, awaited. What `wait` and `put_code` tell while they work, they tell from a thread."""

    put_code = awaited(Experiments.put_code)
    create = awaited(Experiments.create)
    plan = awaited(Experiments.plan)
    fork = awaited(Experiments.fork)
    list = listed(Experiments.list)
    get = awaited(Experiments.get)
    code = awaited(Experiments.code)
    code_file = awaited(Experiments.code_file)
    journal = listed(Experiments.journal)
    replay = awaited(Experiments.replay)
    front = listed(Experiments.front)
    pause = awaited(Experiments.pause)
    resume = awaited(Experiments.resume)
    cancel = awaited(Experiments.cancel)
    kill = awaited(Experiments.kill)
    edit = awaited(Experiments.edit)
    edit_search = awaited(Experiments.edit_search)
    finish = awaited(Experiments.finish)
    archive = awaited(Experiments.archive)
    unarchive = awaited(Experiments.unarchive)
    delete = awaited(Experiments.delete)
    wait = awaited(Experiments.wait)
    metrics = awaited(Experiments.metrics)
    follow_metrics = streamed(Experiments.follow_metrics)
    logs = listed(Experiments.logs)
    follow_logs = streamed(Experiments.follow_logs)
    events = streamed(Experiments.events)


class AsyncTrials(AsyncNoun[Trials]):
    """`Trials`, awaited."""

    list = listed(Trials.list)
    table = listed(Trials.table)
    columns_of = awaited(Trials.columns_of)
    best = awaited(Trials.best)
    get = awaited(Trials.get)
    kill = awaited(Trials.kill)
    runs = listed(Trials.runs)
    phases = awaited(Trials.phases)
    phases_of = listed(Trials.phases_of)
    explain = awaited(Trials.explain)
    metrics = awaited(Trials.metrics)
    follow_metrics = streamed(Trials.follow_metrics)
    summaries = awaited(Trials.summaries)
    logs = listed(Trials.logs)
    follow_logs = streamed(Trials.follow_logs)


class AsyncExports(AsyncNoun[Exports]):
    """`Exports`, awaited."""

    metrics = awaited(Exports.metrics)
    table = awaited(Exports.table)
    arrow = streamed(Exports.arrow)
    table_arrow = streamed(Exports.table_arrow)


class AsyncMedia(AsyncNoun[Media]):
    """`Media`, awaited."""

    list = listed(Media.list)
    names = listed(Media.names)
    read = streamed(Media.read)
    download = awaited(Media.download)


class AsyncCheckpoints(AsyncNoun[Checkpoints]):
    """`Checkpoints`, awaited."""

    of_trial = listed(Checkpoints.of_trial)
    of_experiment = listed(Checkpoints.of_experiment)
    best_of = awaited(Checkpoints.best_of)
    get = awaited(Checkpoints.get)
    download = awaited(Checkpoints.download)
    edit = awaited(Checkpoints.edit)
    delete = awaited(Checkpoints.delete)
    verify = awaited(Checkpoints.verify)
    verify_all = awaited(Checkpoints.verify_all)
    verifying = awaited(Checkpoints.verifying)
    collect = awaited(Checkpoints.collect)
    storage = awaited(Checkpoints.storage)


class AsyncModels(AsyncNoun[Models]):
    """`Models`, awaited."""

    create = awaited(Models.create)
    list = listed(Models.list)
    get = awaited(Models.get)
    edit = awaited(Models.edit)
    delete = awaited(Models.delete)
    set_alias = awaited(Models.set_alias)
    delete_alias = awaited(Models.delete_alias)
    register = awaited(Models.register)
    versions = listed(Models.versions)
    version = awaited(Models.version)
    edit_version = awaited(Models.edit_version)
    delete_version = awaited(Models.delete_version)
    compare = awaited(Models.compare)
    set_stage = awaited(Models.set_stage)
    approve = awaited(Models.approve)
    reject = awaited(Models.reject)
    record_use = awaited(Models.record_use)
    lineage = awaited(Models.lineage)
    download = awaited(Models.download)


class AsyncCluster(AsyncNoun[Cluster]):
    """`Cluster`, awaited."""

    workers = listed(Cluster.workers)
    worker = awaited(Cluster.worker)
    drain = awaited(Cluster.drain)
    undrain = awaited(Cluster.undrain)
    drain_labelled = awaited(Cluster.drain_labelled)
    undrain_labelled = awaited(Cluster.undrain_labelled)
    disable_slot = awaited(Cluster.disable_slot)
    enable_slot = awaited(Cluster.enable_slot)
    pools = listed(Cluster.pools)
    pool = awaited(Cluster.pool)
    edit_pool = awaited(Cluster.edit_pool)
    limits = listed(Cluster.limits)
    set_limit = awaited(Cluster.set_limit)
    set_workspace_limit = awaited(Cluster.set_workspace_limit)
    set_storage_limit = awaited(Cluster.set_storage_limit)
    retention = awaited(Cluster.retention)
    set_retention = awaited(Cluster.set_retention)
    create_reservation = awaited(Cluster.create_reservation)
    reservations = listed(Cluster.reservations)
    delete_reservation = awaited(Cluster.delete_reservation)
    instances = listed(Cluster.instances)
    queue = listed(Cluster.queue)
    usage = awaited(Cluster.usage)
    join_token = awaited(Cluster.join_token)
    usage_csv = awaited(Cluster.usage_csv)


class AsyncUsers(AsyncNoun[Users]):
    """`Users`, awaited."""

    create = awaited(Users.create)
    list = listed(Users.list)
    get = awaited(Users.get)
    edit = awaited(Users.edit)
    create_token = awaited(Users.create_token)
    tokens = listed(Users.tokens)
    revoke_token = awaited(Users.revoke_token)
    set_password = awaited(Users.set_password)
    link = awaited(Users.link)
    identities = awaited(Users.identities)
    unlink = awaited(Users.unlink)


class AsyncGroups(AsyncNoun[Groups]):
    """`Groups`, awaited."""

    create = awaited(Groups.create)
    list = listed(Groups.list)
    get = awaited(Groups.get)
    delete = awaited(Groups.delete)
    add = awaited(Groups.add)
    remove = awaited(Groups.remove)


class AsyncRoles(AsyncNoun[Roles]):
    """`Roles`, awaited."""

    list = awaited(Roles.list)
    get = awaited(Roles.get)
    create = awaited(Roles.create)
    edit = awaited(Roles.edit)
    delete = awaited(Roles.delete)
    grant = awaited(Roles.grant)
    bindings = listed(Roles.bindings)
    revoke = awaited(Roles.revoke)


class AsyncOperations(AsyncNoun[Operations]):
    """`Operations`, awaited."""

    list = listed(Operations.list)
    get = awaited(Operations.get)


class AsyncTenants(AsyncNoun[Tenants]):
    """`Tenants`, awaited."""

    create = awaited(Tenants.create)
    recover = awaited(Tenants.recover)
    delete = awaited(Tenants.delete)
    list = listed(Tenants.list)


class AsyncClient(AsyncNoun[Client]):
    """`Client`, awaited; use it in `async with`, or await `close`."""

    me = awaited(Client.me)
    health = awaited(Client.health)
    platform_health = awaited(Client.platform_health)
    search_logs = listed(Client.search_logs)

    def __init__(self, client: Client) -> None:
        super().__init__(client, ThreadPoolExecutor(THREADS, "muster-client"))
        self.address = client.address
        self.experiments = AsyncExperiments(client.experiments, self._pool)
        self.bulk = AsyncBulk(client.bulk, self._pool)
        self.trials = AsyncTrials(client.trials, self._pool)
        self.exports = AsyncExports(client.exports, self._pool)
        self.media = AsyncMedia(client.media, self._pool)
        self.checkpoints = AsyncCheckpoints(client.checkpoints, self._pool)
        self.models = AsyncModels(client.models, self._pool)
        self.cluster = AsyncCluster(client.cluster, self._pool)
        self.machines = AsyncMachines(client.machines, self._pool)
        self.templates = AsyncTemplates(client.templates, self._pool)
        self.policies = AsyncPolicies(client.policies, self._pool)
        self.operations = AsyncOperations(client.operations, self._pool)
        self.quotas = AsyncQuotas(client.quotas, self._pool)
        self.budgets = AsyncBudgets(client.budgets, self._pool)
        self.users = AsyncUsers(client.users, self._pool)
        self.groups = AsyncGroups(client.groups, self._pool)
        self.roles = AsyncRoles(client.roles, self._pool)
        self.tenants = AsyncTenants(client.tenants, self._pool)
        self.workspaces = AsyncWorkspaces(client.workspaces, self._pool)
        self.audit = AsyncAudit(client.audit, self._pool)
        self.views = AsyncViews(client.views, self._pool)
        self.webhooks = AsyncWebhooks(client.webhooks, self._pool)
        self.sessions = AsyncSessions(client.sessions, self._pool)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections; what is still being streamed ends."""
        self._noun.close()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def only(self, *fields: str) -> "AsyncClient":
        """Return the same client for reading these fields alone: `client.only("number", "best.value").experiments.list()`.

        Of what is listed they are fields of the items. What was not asked for is not there: to read it raises AttributeError.
        What changes something, streams and tables answer as ever.
        """
        return AsyncClient(self._noun.only(*fields))

    def drive(self, experiment: Reference, driver: str | None = None) -> AsyncSearch:
        """Return the search of an experiment whose searcher is `custom`, to be driven by this program, which people see as `driver`."""
        return self._noun.drive_async(experiment, driver)


def connect_async(address: Address | None = None) -> AsyncClient:
    """Return an asynchronous client of the platform at `address`, by default of the one that `discover` finds."""
    return AsyncClient(connect(address))
