"""The client: one attribute for each noun of the command line, one method for each verb."""

from collections.abc import Sequence
from types import TracebackType
from typing import Self, Unpack

from muster.client import models
from muster.client.access import Groups, Roles, Tenants, Users
from muster.client.audit import Audit
from muster.client.bulk import Bulk
from muster.client.catalogue import Models
from muster.client.checkpoints import Checkpoints
from muster.client.cluster import Cluster
from muster.client.experiments import Experiments
from muster.client.exports import Exports
from muster.client.machines import Machines
from muster.client.media import Media
from muster.client.operations import Operations
from muster.client.paging import Items, LineFilter, log_query, pages
from muster.client.policies import Budgets, Policies, Quotas, Templates
from muster.client.searches import AsyncSearch, Search
from muster.client.sessions import Sessions
from muster.client.settings import Address, discover
from muster.client.transport import Query, Reference, Transport
from muster.client.trials import Trials
from muster.client.views import Views
from muster.client.webhooks import Webhooks
from muster.client.workspaces import Workspaces


def connect(address: Address | None = None) -> "Client":
    """Return a client of the platform at `address`, by default of the one that `discover` finds."""
    return Client(Transport(address or discover()))


class Client:
    """A caller's view of one platform; safe for use by several threads. Close it, or use it in `with`.

    Attributes:
        experiments: Create, follow, steer and list experiments.
        trials: Trials with their runs, metrics and logs.
        exports: Metrics in bulk, as Arrow and Parquet.
        media: Images, tables, texts and histograms of trials, and their event files.
        checkpoints: Saved states of trials.
        models: Registered models and their versions.
        cluster: Workers, pools, instances and the queue.
        machines: Rented machines: pools of them, what can be rented, and what it has cost.
        templates: Parts of configs under a name.
        policies: What configs are held to.
        operations: What takes longer than a request waits.
        quotas: How much is done at once.
        budgets: What is spent in a month.
        users: People and service accounts, and their tokens.
        groups: Users who are given roles together.
        roles: Sets of permissions, and who was given them where.
        tenants: The tenants of a site, for who keeps it.
        audit: Who did what, and the proof that nothing of it was changed.
        views: Places of the dashboard that one has named.
        webhooks: Where events are sent, and what became of each.
        sessions: Sign-ins of people.
    """

    def __init__(self, transport: Transport) -> None:
        self.address = transport.address
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
        self._transport = transport

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def only(self, *fields: str) -> "Client":
        """Return the same client for reading these fields alone: `client.only("number", "best.value").experiments.list()`.

        Of what is listed they are fields of the items. What was not asked for is not there: to read it raises AttributeError.
        What changes something, streams and tables answer as ever.
        """
        return Client(self._transport.only(*fields))

    def me(self) -> models.Me:
        """Return who the caller is."""
        return self._transport.get(models.Me, "/v1/me")

    def platform_health(self) -> models.PlatformHealth:
        """Return whether the platform works; its operators also get every check of every service."""
        return self._transport.get(models.PlatformHealth, "/v1/health/platform")

    def drive(self, experiment: Reference, driver: str | None = None) -> Search:
        """Return the search of an experiment whose searcher is `custom`, to be driven by this program, which people see as `driver`."""
        return Search(self._transport, experiment, driver)

    def drive_async(self, experiment: Reference, driver: str | None = None) -> AsyncSearch:
        """Return the same for a program that is `async`."""
        return AsyncSearch(self._transport, experiment, driver)

    def search_logs(
        self,
        *,
        experiments: Sequence[Reference] = (),
        trials: Sequence[Reference] = (),
        **wanted: Unpack[LineFilter],
    ) -> Items[models.LogLine]:
        """Return the lines of many trials that hold a text, or match what else is given: of these experiments and trials, or of all.

        The newest experiment comes first, its trials by number, a trial's lines in their order.
        """
        query = log_query(wanted)
        named: Query = {"experiment": list(map(str, experiments)), "trial": list(map(str, trials))}
        return pages(self._transport, models.LogPage, "/v1/logs", {**query, **named})

    def health(self) -> models.Health:
        """Return whether the gateway answers, and its version."""
        return self._transport.get(models.Health, "/v1/health")
