"""The planner's settings: `MUSTER_SIMULATOR__…`."""

from pydantic import Field

from shared.settings import Section, ServiceSettings


class SimulatorSection(Section):
    """How much one plan may take.

    `plans_at_once`: more wait for their turn. `plan_s`: after so long a plan is made of the futures that were played. `plan_memory_mib`:
    address space of the process that plays.
    """

    plans_at_once: int = Field(2, ge=1, le=64)
    plan_s: float = Field(12.0, gt=0, le=50)
    plan_memory_mib: int = Field(2048, ge=256)


class Settings(ServiceSettings):
    """All that the simulator reads from its environment."""

    simulator: SimulatorSection = SimulatorSection()
