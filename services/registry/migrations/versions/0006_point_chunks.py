"""Store points of a series in chunks instead of one row per point; existing points are converted."""

from datetime import date

from alembic import op
from sqlalchemy import text

from shared.database.engine import protect

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

POINTS_PER_CHUNK = 4_000

CHUNKS = """CREATE TABLE registry.point_chunks (
    day date NOT NULL, tenant uuid NOT NULL, series bigint NOT NULL, count int NOT NULL,
    is_thinned boolean NOT NULL DEFAULT false, first_step bigint NOT NULL, last_step bigint NOT NULL, body bytea NOT NULL, rolled_up bytea) PARTITION BY RANGE (day)"""

CONVERTED = f"""
INSERT INTO registry.point_chunks (day, tenant, series, count, first_step, last_step, body)
SELECT day, tenant, series, count(*), min(step), max(step),
       '\\x00'::bytea || string_agg(int8send(seq), '' ORDER BY step, seq) || string_agg(int8send(step), '' ORDER BY step, seq)
       || string_agg(int8send(time_ms), '' ORDER BY step, seq) || string_agg(float8send(value), '' ORDER BY step, seq)
FROM (SELECT *, (row_number() OVER (PARTITION BY day, series ORDER BY step, seq) - 1) / {POINTS_PER_CHUNK} AS chunk
      FROM registry.points) AS numbered
GROUP BY day, tenant, series, chunk
"""


def upgrade() -> None:
    """Create the table and its partitions, convert the points, and drop the old table."""
    op.execute(CHUNKS)
    # Chunks are compressed already and always read whole.
    op.execute("ALTER TABLE registry.point_chunks ALTER COLUMN body SET STORAGE EXTERNAL")
    op.execute("ALTER TABLE registry.point_chunks ALTER COLUMN rolled_up SET STORAGE EXTERNAL")
    op.execute("CREATE INDEX point_chunks_by_series ON registry.point_chunks (series, count)")
    op.execute(
        "ALTER TABLE registry.series ADD COLUMN first_step bigint NOT NULL DEFAULT 9223372036854775807"
    )
    days = op.get_bind().execute(
        text(
            "SELECT right(inhrelid::regclass::text, 8) FROM pg_inherits WHERE inhparent = 'registry.points'::regclass"
        )
    )
    for day in sorted(days.scalars()):
        _make_day(date.fromisoformat(day))
    # Row-level security applies to the owner too, who has no tenant.
    for table in ("points", "series"):
        op.execute(f"ALTER TABLE registry.{table} NO FORCE ROW LEVEL SECURITY")
    op.execute(CONVERTED)
    op.execute(
        "UPDATE registry.series s SET first_step = c.first_step FROM"
        " (SELECT series, min(first_step) AS first_step FROM registry.point_chunks GROUP BY series) c"
        " WHERE c.series = s.id AND s.count > 0"
    )
    op.execute("ALTER TABLE registry.series FORCE ROW LEVEL SECURITY")
    op.execute("DROP TABLE registry.points")
    protect(op, "registry", "point_chunks")


def _make_day(day: date) -> None:
    name = f"registry.point_chunks_p{day:%Y%m%d}"
    op.execute(
        f"CREATE TABLE {name} PARTITION OF registry.point_chunks"
        f" FOR VALUES FROM ('{day}') TO (date '{day}' + 1)"
    )
    op.execute(f"GRANT INSERT ON {name} TO registry_tenant")
