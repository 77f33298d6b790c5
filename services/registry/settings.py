"""The registry's settings: `MUSTER_REGISTRY__…` beside those that every service has."""

from pydantic import Field

from shared.objects import LEAST_PART_BYTES
from shared.settings import PostgresSettings, S3Settings, Section, ServiceSettings


class RegistrySection(Section):
    """What the registry decides by configuration.

    Attributes:
        link_life_s: how long a signed URL is good.
        bind_uploads: sign uploads for their content, if the store proves to hold senders to it; false: always copy and read back.
        hash_up_to_bytes: of what is read back, larger files are verified by size alone; None reads all of them.
        part_bytes: larger files of a checkpoint are sent in parts of this size (S3 takes up to 5 GiB in one request).
        code_bytes: the largest archive of code that is taken.
        collect_after_s: how long an experiment's checkpoints stay untouched after its end.
        settle_every_s: how often ended runs are looked at whose checkpoints are not all stored.
        collect_dry: say what collection would delete, and delete nothing.
        unused_for_s: how long a file's bytes stay after the last checkpoint that refers to them was deleted.
        scrub_bytes_per_s: how fast what is stored is read again and compared, beside all else; 0 reads only what is asked for.
        scrub_every_s: how long a stored file is trusted after it was read.
        keep_points_days: age at which metric points go, whatever an experiment's config says; None keeps them.
        detail_points_days: age at which a series keeps a sixteenth of its points, unless the experiment's config has days of its own;
            None keeps all.
        keep_logs_days: age at which log lines go, whatever others say; None keeps them.
        pack_every_s: how often small chunks of points are joined.
        retain_every_s: how often is looked for points and lines that are old enough to be thinned, or to go.
        log_object_letters: so much of a trial's log becomes one object of the store.
        log_rest_letters: what is left of a log at its trial's end stays in the database if it is shorter.
        log_attempt_s: an object that is not there after this time is given up, and made again.
        lanes: transactions at a time that store reports of one tenant.
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
    log_object_letters: int = Field(8 * 1024 * 1024, ge=1, le=64 * 1024 * 1024)
    log_rest_letters: int = Field(64 * 1024, ge=1)
    log_rest_after_s: float = Field(60.0, ge=0)
    log_attempt_s: float = Field(600.0, gt=0)
    log_pack_every_s: float = Field(10.0, gt=0)
    lanes: int = Field(2, ge=1, le=16)


class Settings(ServiceSettings):
    """All settings of the process."""

    postgres: PostgresSettings
    s3: S3Settings
    registry: RegistrySection = RegistrySection()
