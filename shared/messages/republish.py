"""`muster republish`: an operator's wish that a service says again how each of its entities is."""

from shared.messages.base import Command


class RepublishGateway(Command, owner="gateway", verb="republish"):
    """operator → gateway, of the site: every submission."""


class RepublishSearcher(Command, owner="searcher", verb="republish"):
    """operator → searcher, of the site: every experiment, trial and wish."""


class RepublishScheduler(Command, owner="scheduler", verb="republish"):
    """operator → scheduler, of the site: every run, request, worker and pool."""


class RepublishProvisioner(Command, owner="provisioner", verb="republish"):
    """operator → provisioner, of the site: every instance and provider."""


class RepublishRegistry(Command, owner="registry", verb="republish"):
    """operator → registry, of the site: every checkpoint, model and model version."""


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
