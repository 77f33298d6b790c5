"""Settings of the registry: `MUSTER_REGISTRY__…`, in addition to those of every service."""

from pydantic import Field

from shared.objects import LEAST_PART_BYTES
from shared.settings import PostgresSettings, S3Settings, Section, ServiceSettings


class RegistrySection(Section):
    """Settings of the registry.

    Attributes:
        link_life_s: Lifetime of presigned URLs.
        bind_uploads: Sign uploads for their content if the store enforces it; false: always copy and read back.
        hash_up_to_bytes: Uploads that are read back are verified by size only above this size; None reads all of them.
        part_bytes: Checkpoint files larger than this are uploaded in parts of this size (S3 allows 5 GiB per request).
        code_bytes: Maximum size of a code archive.
        collect_after_s: How long an experiment's checkpoints are kept after its end before they are collected.
        settle_every_s: Interval of the check on ended runs whose checkpoints are not all stored.
        collect_every_s: Interval of the collection of checkpoints.
        collect_dry: Only log what collection would delete.
        unused_for_s: How long a file's bytes are kept after the last checkpoint that refers to them was deleted.
        unused_every_s: Interval of the check for such files.
        scrub_bytes_per_s: Rate at which stored objects are verified in the background; 0 verifies only on request.
        scrub_every_s: How long a stored object is trusted after it was verified.
        keep_points_days: Age at which metric points are deleted, whatever an experiment's config sets; None keeps them.
        detail_points_days: Age at which a series is thinned to a sixteenth of its points, unless the experiment's config sets its own;
            None keeps all.
        keep_logs_days: Age at which log lines are deleted, whatever other rules say; None keeps them.
        pack_every_s: Interval at which small chunks of points are merged.
        retain_every_s: Interval of the check for points and lines that have expired or must be thinned.
        log_object_bytes: Bytes of a trial's log text that become one object of the store.
        log_remainder_bytes: Remaining log text of an ended trial stays in the database if it has fewer bytes than this.
        log_remainder_after_s: Time after the end of a trial at which its remaining log text is packed.
        log_attempt_s: Time after which an unfinished log object is given up and created again.
        log_pack_every_s: Interval at which log text is packed into objects.
        lanes: Concurrent transactions that store reports of one tenant.
    """

    link_life_s: int = Field(900, ge=10, le=86_400)
    bind_uploads: bool = True
    hash_up_to_bytes: int | None = Field(None, ge=0)
    part_bytes: int = Field(1024**3, ge=LEAST_PART_BYTES, le=5 * 1024**3)
    code_bytes: int = Field(128 * 1024 * 1024, ge=1)
    collect_after_s: float = Field(60.0, ge=0)
    collect_every_s: float = Field(10.0, gt=0)
    settle_every_s: float = Field(5.0, gt=0)
    collect_dry: bool = False
    unused_for_s: float = Field(86_400.0, ge=0)
    unused_every_s: float = Field(60.0, gt=0)
    scrub_bytes_per_s: int = Field(4 * 1024 * 1024, ge=0)
    scrub_every_s: float = Field(30 * 86_400.0, ge=0)
    keep_points_days: int | None = Field(None, ge=1)
    detail_points_days: int | None = Field(None, ge=1)
    keep_logs_days: int | None = Field(None, ge=1)
    pack_every_s: float = Field(10.0, gt=0)
    retain_every_s: float = Field(3_600.0, gt=0)
    log_object_bytes: int = Field(8 * 1024 * 1024, ge=1, le=64 * 1024 * 1024)
    log_remainder_bytes: int = Field(64 * 1024, ge=1)
    log_remainder_after_s: float = Field(60.0, ge=0)
    log_attempt_s: float = Field(600.0, gt=0)
    log_pack_every_s: float = Field(10.0, gt=0)
    lanes: int = Field(2, ge=1, le=16)


class Settings(ServiceSettings):
    """All settings of the process."""

    postgres: PostgresSettings
    s3: S3Settings
    registry: RegistrySection = RegistrySection()
