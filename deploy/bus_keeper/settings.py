"""Settings of the bus keeper: `MUSTER_BUS_KEEPER__…`, in addition to those of every process."""

from pydantic import Field

from shared.settings import Section, ServiceSettings


class BusKeeperSection(Section):
    """Settings of the bus keeper.

    Attributes:
        replicas: Copies of each stream that it creates; 3 for a cluster of three NATS servers.
        every_s: Pause between checks.
    """

    replicas: int = Field(1, ge=1, le=5)
    every_s: float = Field(1.0, gt=0, le=5)


class Settings(ServiceSettings):
    """Settings of the bus keeper's process."""

    bus_keeper: BusKeeperSection = BusKeeperSection()
