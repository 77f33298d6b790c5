"""The image of a run's container: all runs of an experiment use the digest that the first of them has resolved (0304)."""

from shared.messages.images import PinImage
from worker.runs.context import RunContext
from worker.store.records import StoredImage

REQUEST_S = 10.0


async def get_image(context: RunContext) -> StoredImage:
    """Return the image, pulled if this machine does not have it.

    Raises:
        Rejected: The site does not allow it, the registry of images refuses it, or it lacks what ranks need.
        Transient: The secret with its credentials, or the experiment's digest, is not available now.
        OSError: The engine does not answer.
    """
    tools = context.tools
    request = tools.containers.request(context.stored, tools.machine)
    if request.auth is not None and request.auth.secret is not None:
        request = request.with_auth(await context.secrets.value(request.auth.secret))

    async def pin(resolved: str | None) -> str | None:
        query = PinImage(run_id=context.run.run_id, image=request.name, resolved=resolved)
        return (await tools.platform.request(query, timeout_s=REQUEST_S)).digest

    with context.phases.during("pull_image") as facts:
        image = await tools.images.get(request, pin, context.tail.log)
        facts["image"] = image.digest
    return image
