"""Experiments: upload code, create and plan experiments, and wait for their end."""

from collections.abc import Callable, Sequence
from pathlib import Path

from muster.archive import Archive, check_entrypoint, pack
from muster.client import models
from muster.client.api_resource import APIResource
from muster.client.files.download import OnBytes
from muster.client.http.fields import json_body
from muster.client.http.transport import Call, Reference, segment
from muster.client.models import JsonObject
from muster.client.wait import until_final
from muster.config.load import load_document
from muster.errors import NotFound


class HandwrittenExperiments(APIResource):
    """Methods of `client.experiments` that are not generated."""

    def put_code(self, code: Path | Archive, on_bytes: OnBytes | None = None) -> str:
        """Pack a folder and upload it unless the platform has it; return the archive's SHA-256.

        Raises:
            Rejected: The folder exceeds a limit or contains a link.
        """
        archive = code if isinstance(code, Archive) else pack(code)
        path = f"/v1/code/{archive.sha256}"
        try:
            return self._transport.get(models.Code, path).sha256
        except NotFound:
            call = Call("PUT", path, content=archive.content, on_bytes=on_bytes)
            return self._transport.call(models.Code, call).sha256

    def create(
        self,
        config: JsonObject | str,
        code: Path | Archive | str | None = None,
        *,
        name: str | None = None,
        labels: Sequence[str] = (),
        template: str | None = None,
    ) -> models.ExperimentDetail:
        """Create an experiment from a config (object or YAML text) and a folder (or the hash of code uploaded before).

        Without `code`, nothing is uploaded, not even the working directory. Version control, likely secrets and files named in an
        ignore file are left out of a folder (`muster.archive.pack`). With `template`, the config is merged into that template.

        Raises:
            Rejected: The code lacks the file that the entrypoint runs, or the config is invalid.
        """
        body: JsonObject = {"config_yaml": config} if isinstance(config, str) else {"config": config}
        if isinstance(code, Path | Archive):
            archive = code if isinstance(code, Archive) else pack(code)
            check_entrypoint(load_document(config).root.get("entrypoint"), archive.files)
            body["code_sha256"] = self.put_code(archive)
        elif code is not None:
            body["code_sha256"] = code
        body |= json_body(name=name, labels=labels or None, template=template)
        return self._transport.post(models.ExperimentDetail, "/v1/experiments", body)

    def plan(
        self,
        config: JsonObject | str,
        code: Path | Archive | str | None = None,
        *,
        template: str | None = None,
        pool: str | None = None,
        whole: bool = False,
        cluster: JsonObject | None = None,
        step_s: float | None = None,
        steps: int | None = None,
        price_per_slot_hour: float | None = None,
        futures: int = 20,
    ) -> models.Plan:
        """Estimate the cost and the end of an experiment by simulating its search; nothing is submitted.

        Args:
            config: Config as an object or YAML text.
            code: A folder or a hash: earlier trials of this code supply learning curves and step times.
            template: Template to merge the config into.
            pool: Pool to plan for; by default the config's.
            whole: Plan as if the pool were empty.
            cluster: Machines to plan for instead of a pool, in the format of `muster simulate`.
            step_s: Seconds per step; by default from earlier trials. If neither is known, times and cost are omitted.
            steps: Length of a trial in steps; by default the searcher's `max_time`.
            price_per_slot_hour: Price of a slot-hour; by default from the pool's machines.
            futures: Number of simulations.
        """
        given: JsonObject = {"config_yaml": config} if isinstance(config, str) else {"config": config}
        options = json_body(
            code_sha256=_hash_of(code),
            template=template,
            pool=pool,
            whole=whole,
            cluster=cluster,
            step_s=step_s,
            steps=steps,
            price_per_slot_hour=price_per_slot_hour,
            futures=futures,
        )
        return self._transport.post(models.Plan, "/v1/plans", given | options)

    def wait(
        self,
        experiment: Reference,
        *,
        timeout_s: float | None = None,
        on_look: Callable[[models.ExperimentDetail], None] | None = None,
    ) -> models.ExperimentDetail:
        """Wait until the experiment is final and return it; `on_look` is called after every request, at least once a second.

        Waits for a platform that is unavailable for less than a minute.

        Raises:
            Transient: The experiment is not final after `timeout_s`, or the platform stays unavailable.
        """
        path = f"/v1/experiments/{segment(experiment)}"
        return until_final(lambda: self._transport.get(models.ExperimentDetail, path), timeout_s, on_look)


def _hash_of(code: Path | Archive | str | None) -> str | None:
    packed = pack(code) if isinstance(code, Path) else code
    return packed.sha256 if isinstance(packed, Archive) else packed
