"""What a process shows on `/metrics`, as an operator's Prometheus reads it."""

from dataclasses import dataclass

import httpx
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample


@dataclass(frozen=True)
class Metrics:
    """The samples of one scrape."""

    samples: tuple[Sample, ...]

    def total(self, name: str, **labels: str) -> float:
        """The sum of the samples with this name and these labels, whatever other labels they have; 0 without any."""
        return sum(
            sample.value
            for sample in self.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )


def scrape(port: int, token: str | None = None) -> Metrics:
    """Read `/metrics` of the process with this side port."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    answer = httpx.get(f"http://127.0.0.1:{port}/metrics", headers=headers).raise_for_status()
    families = text_string_to_metric_families(answer.text)
    return Metrics(tuple(sample for family in families for sample in family.samples))
