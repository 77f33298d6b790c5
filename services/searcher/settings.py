"""Settings of the searcher: `MUSTER_SEARCHER__…`."""

from pydantic import Field

from shared.container_rules import ContainerSettings
from shared.settings import PostgresSettings, Section, ServiceSettings


class SearcherSection(Section):
    """Intervals, timeouts and cache sizes of the searcher.

    Attributes:
        announce_every_s: Interval at which the progress of experiments is published.
        settle_after_s: A trial whose request has closed ends after this time even if not all validations that its last run announced were
            stored; its checkpoints are waited for.
        budget_every_s: Minimum interval between checks of budgets.
        settle_every_s: Interval of the check for such trials.
        cached_searches: Experiments whose search state is kept in memory.
        save_every: A search's state is saved after this many journal entries, or after an eighth of all its entries if that is more.
    """

    announce_every_s: float = Field(1.0, gt=0)
    settle_after_s: float = Field(900.0, gt=0)
    budget_every_s: float = Field(1.0, gt=0)
    settle_every_s: float = Field(30.0, gt=0)
    cached_searches: int = Field(500, ge=1)
    save_every: int = Field(10_000, ge=1)


class Settings(ServiceSettings):
    """Settings of the searcher process."""

    postgres: PostgresSettings
    searcher: SearcherSection = SearcherSection()
    containers: ContainerSettings = ContainerSettings()
