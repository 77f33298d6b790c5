"""Images of experiments: the first digest that a run resolves counts for all runs of the experiment."""

from services.registry.runs import fences
from services.registry.runs.reporting_workers import Facts
from services.registry.runs.store import images
from shared.bus import RequestContext, Units
from shared.bus.responder import Answer, Question
from shared.errors import Rejected
from shared.ids import TenantId
from shared.messages.images import PinImage, PinnedImage


class PinnedImages:
    """Answers `wrq.v1.<worker>.image`."""

    def __init__(self, units: Units, facts: Facts) -> None:
        self._units = units
        self._facts = facts

    def answers(self) -> dict[Question, Answer]:
        """Return the answers for the responder."""
        return {PinImage: self.on_pin}

    async def on_pin(self, ask: RequestContext, query: PinImage) -> PinnedImage:
        """Return the experiment's digest of the image; store the resolved one if there is none yet."""
        facts = await self._facts.of(query.run_id, ask.worker)
        async with self._units.tenant(TenantId(facts.tenant)) as unit:
            run, _ = await fences.locked_run(unit, facts)
            refusal = run.membership.refuse_reading(ask.worker)
            if refusal is not None:
                raise Rejected(
                    "former_member",
                    f"worker {ask.worker} may not resolve the image {query.image} for run {query.run_id}: {refusal}",
                    hint="only members of a running run resolve its image",
                )
            if query.resolved is not None:
                await images.save_image(unit.connection, facts, query.image, query.resolved, unit.now)
            digest = await images.load_image(unit.connection, facts.experiment_id, query.image)
        return PinnedImage(digest=digest)
