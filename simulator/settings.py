"""The simulator's settings: `MUSTER_SIMULATOR__…`."""

from pydantic import Field

from shared.settings import Section, ServiceSettings


class SimulatorSection(Section):
    """Limits of a plan.

    Attributes:
        plans_at_once: Concurrent plans; more of them wait.
        plan_s: Time limit, after which a plan is based on the futures simulated so far.
        plan_memory_mib: Address space of the simulation process.
    """

    plans_at_once: int = Field(2, ge=1, le=64)
    plan_s: float = Field(12.0, gt=0, le=50)
    plan_memory_mib: int = Field(2048, ge=256)


class Settings(ServiceSettings):
    """The process's settings from its environment."""

    simulator: SimulatorSection = SimulatorSection()
