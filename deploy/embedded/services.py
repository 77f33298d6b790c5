"""Services as separate processes: same interpreter, settings in the environment, readiness from the side port."""

import signal
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping

from pydantic import ValidationError

from deploy.embedded.host.ports import LOOPBACK, free_ports, is_free
from deploy.embedded.host.processes import Command
from deploy.embedded.servers.base import Daemon, Home, StopSigns
from shared.messages.health import PROCESS, HealthReport

SERVICES = ("gateway", "registry", "searcher", "scheduler", "provisioner", "simulator", "bus-keeper")
"""In start order: the slowest first. The bus keeper has a credential and a process like a service, and is none."""

MODULES = {name: f"services.{name}" for name in SERVICES} | {
    "simulator": "simulator",
    "bus-keeper": "deploy.bus_keeper",
}
"""Modules to start: the simulator is beside the services because it drives their cores."""

BAD_SETTINGS = 2
"""The exit code for invalid settings: a restart does not help."""

_TIMEOUT_S = 1.0


def load_report(side_port: int) -> HealthReport | None:
    """Return the report of a service's `/ready`; None if it does not answer."""
    try:
        with urllib.request.urlopen(f"http://{LOOPBACK}:{side_port}/ready", timeout=_TIMEOUT_S) as answer:
            body = answer.read()
    except urllib.error.HTTPError as error:
        body = error.read()
    except (urllib.error.URLError, OSError):
        return None
    try:
        return HealthReport.model_validate_json(body)
    except ValidationError:
        return None


class Service(Daemon):
    """One service. It stops gracefully when the supervisor is killed.

    Args:
        environment: called at each start, so that a restart uses changed secrets.
    """

    stop_signs: StopSigns = ((signal.SIGTERM, 12.0),)

    def __init__(
        self,
        home: Home,
        name: str,
        side_port: int,
        environment: Callable[[], Mapping[str, str]],
        ports: tuple[int, ...] = (),
    ) -> None:
        super().__init__(home)
        self.name = name
        self.side_port = side_port
        self.environment = environment
        self._ports = ports

    @property
    def ports(self) -> tuple[int, ...]:
        return (*self._ports, self.side_port)

    def prepare(self) -> None:
        """Choose another side port if it is taken; services wait until their schemas are migrated."""
        if not is_free(self.side_port):
            self.side_port = free_ports(1)[0]

    def command(self) -> Command:
        return Command(
            arguments=(sys.executable, "-P", "-m", MODULES[self.name]),
            environment={
                **self.environment(),
                **self.home.marker,
                "MUSTER_SIDE__PORT": str(self.side_port),
            },
            log=self.log,
            directory=self.home.root,
            dies_with_parent=signal.SIGTERM,
        )

    def ready(self) -> bool:
        """Whether it has started. Failing dependencies do not count: a restart does not help."""
        report = load_report(self.side_port)
        return report is not None and all(check.ok for check in report.checks if check.name == PROCESS)
