"""Experiments: uploads code, creates and plans experiments, and waits for their end."""

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
    """The methods of `client.experiments` that are not generated."""

    def put_code(self, code: Path | Archive, on_bytes: OnBytes | None = None) -> str:
        """Pack a folder and send it unless the platform has it; return the archive's SHA-256.

        Raises:
            Rejected: The folder is over a limit or holds a link.
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
        """Create an experiment from a config (object, or YAML text) and a folder (or the hash of code put before).

        Nothing is sent without `code`: not the working directory either. Version control, likely secrets and what an ignore file
        names stay out of a folder (`muster.archive.pack`). With `template` the config is laid over that one.

        Raises:
            Rejected: The code lacks the file that the entrypoint runs, or the config is wrong.
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
        """Return what an experiment would cost and when it would end, by playing its search; nothing is submitted.

        Args:
            code: A folder or a hash: earlier trials of this code show how it learns, and how long its steps take.
            pool: By default the config's; `whole`: as if nothing else ran there.
            cluster: Machines to plan for instead of a pool, as `muster simulate` takes them.
            step_s: Of one step; by default as earlier trials show. Where there are none, times and cost are left out.
        """
        given: JsonObject = {"config_yaml": config} if isinstance(config, str) else {"config": config}
        told = json_body(
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
        return self._transport.post(models.Plan, "/v1/plans", given | told)

    def wait(
        self,
        experiment: Reference,
        *,
        timeout_s: float | None = None,
        on_look: Callable[[models.ExperimentDetail], None] | None = None,
    ) -> models.ExperimentDetail:
        """Return the experiment once it is final; `on_look` is told at every look, at least once a second.

        A platform that is away for less than a minute is waited for.

        Raises:
            Transient: It is not final after `timeout_s`, or the platform stays away.
        """
        path = f"/v1/experiments/{segment(experiment)}"
        return until_final(lambda: self._transport.get(models.ExperimentDetail, path), timeout_s, on_look)


def _hash_of(code: Path | Archive | str | None) -> str | None:
    packed = pack(code) if isinstance(code, Path) else code
    return packed.sha256 if isinstance(packed, Archive) else packed
