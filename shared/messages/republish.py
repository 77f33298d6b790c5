"""`muster republish`: commands to a service to publish the current state of all its entities again."""

from shared.messages.base import Command


class RepublishGateway(Command, owner="gateway", verb="republish"):
    """operator → gateway, for the site: publish every submission again."""


class RepublishSearcher(Command, owner="searcher", verb="republish"):
    """operator → searcher, for the site: publish every experiment, trial and trial request again."""


class RepublishScheduler(Command, owner="scheduler", verb="republish"):
    """operator → scheduler, for the site: publish every run, request, worker and pool again."""


class RepublishProvisioner(Command, owner="provisioner", verb="republish"):
    """operator → provisioner, for the site: publish every instance and provider again."""


class RepublishRegistry(Command, owner="registry", verb="republish"):
    """operator → registry, for the site: publish every checkpoint, model and model version again."""


BY_OWNER: dict[str, type[Command]] = {
    command.OWNER: command
    for command in (
        RepublishGateway,
        RepublishSearcher,
        RepublishScheduler,
        RepublishProvisioner,
        RepublishRegistry,
    )
}
