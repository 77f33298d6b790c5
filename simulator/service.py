"""The simulator service: answers what an experiment would cost. Stateless."""

from shared.bus import Bus, Responder
from shared.clock import SystemClock
from shared.runtime.process import ServiceProcess
from simulator.planning.plan_handler import Answers
from simulator.planning.simulation_workers import SimulationWorkers
from simulator.settings import Settings

NAME = "simulator"
QUESTIONS_AT_ONCE = 32


async def compose(settings: Settings, process: ServiceProcess) -> None:
    """Connect to the bus and answer queries."""
    own = settings.simulator
    bus = await process.enter(
        await process.reach("nats", lambda: Bus.connect(settings.nats.url, NAME, settings.nats.credentials))
    )
    workers = SimulationWorkers(SystemClock(), own.plans_at_once, own.plan_s, own.plan_memory_mib)

    async def connected() -> str | None:
        return None if bus.connected else "not connected to NATS"

    process.check("bus", connected)
    await process.enter(Responder(bus, NAME, Answers(bus, workers).answers(), QUESTIONS_AT_ONCE))
    process.mark_ready()
