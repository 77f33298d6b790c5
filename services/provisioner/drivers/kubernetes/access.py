"""Access to a cluster's API server: from inside the cluster, by a kubeconfig, or at a URL."""

from dataclasses import dataclass
from pathlib import Path

from kubernetes_asyncio.client import Configuration
from kubernetes_asyncio.config import load_incluster_config, load_kube_config


@dataclass(frozen=True, slots=True)
class Access:
    """Access to a cluster: by `kubeconfig`, at `url`, or else the cluster that this process runs in.

    Inside the cluster, the token is read again every minute.

    Attributes:
        context: Context of the kubeconfig; None: the current one.
        token_file: Token for `url`, or instead of the pod's own; `ca_file` likewise.
    """

    kubeconfig: Path | None = None
    context: str | None = None
    url: str | None = None
    token_file: Path | None = None
    ca_file: Path | None = None

    async def load(self, into: Configuration) -> None:
        """Read the files, and run the `exec` of a kubeconfig.

        Called again after a token was refused, because it may have been replaced.

        Raises:
            ConfigException: This is no cluster, the kubeconfig is invalid, or its `exec` failed; also errors of YAML
                and of values.
            OSError: A file or program cannot be read.
        """
        if self.kubeconfig is not None:
            self.kubeconfig.stat()  # the library treats a missing file as an empty one
            await load_kube_config(str(self.kubeconfig), self.context, into, persist_config=False)
        elif self.url is not None:
            self._load_address(self.url, into)
        else:
            files = {"token_filename": self.token_file, "cert_filename": self.ca_file}
            load_incluster_config(into, **{name: str(file) for name, file in files.items() if file})

    def _load_address(self, url: str, into: Configuration) -> None:
        into.host = url.rstrip("/")
        into.ssl_ca_cert = str(self.ca_file) if self.ca_file else None
        if self.token_file is not None:
            into.api_key["BearerToken"] = f"Bearer {self.token_file.read_text().strip()}"
