"""Tables for reports: chunks of points, log lines and media. See also `tables`."""

from sqlalchemy import BigInteger, Boolean, Column, Date, DateTime, Integer, LargeBinary, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from services.registry.store.tables import METADATA

_INSTANT = DateTime(timezone=True)

point_chunks = Table(
    "point_chunk",
    METADATA,
    Column("tableoid", Integer, system=True),
    Column("ctid", Text, system=True),
    Column("day", Date),
    Column("tenant", Uuid),
    Column("series", BigInteger),
    Column("count", Integer),
    Column("is_thinned", Boolean),
    Column("first_step", BigInteger),
    Column("last_step", BigInteger),
    Column("body", LargeBinary),
    Column("rolled_up", LargeBinary),
)

log_positions = Table(
    "log_position",
    METADATA,
    Column("trial", Uuid, primary_key=True),
    Column("tenant", Uuid),
    Column("next", BigInteger),
    Column("first_unpacked", BigInteger),
    Column("unpacked_bytes", BigInteger),
)

log_chunks = Table(
    "log_chunk",
    METADATA,
    Column("day", Date),
    Column("tenant", Uuid),
    Column("trial", Uuid),
    Column("first", BigInteger),
    Column("lines", Integer),
    Column("run_number", Integer),
    Column("body", LargeBinary),
)

log_objects = Table(
    "log_object",
    METADATA,
    Column("id", Uuid, primary_key=True),
    Column("tenant", Uuid),
    Column("trial", Uuid),
    Column("first", BigInteger),
    Column("lines", BigInteger),
    Column("state", Text),
    Column("size_bytes", BigInteger),
    Column("text_bytes", BigInteger),
    Column("since_ms", BigInteger),
    Column("until_ms", BigInteger),
    Column("runs", ARRAY(BigInteger)),
    Column("ranks", ARRAY(BigInteger)),
    Column("levels", ARRAY(Text)),
    Column("batch_lines", BigInteger),
    Column("batch_offsets", ARRAY(BigInteger)),
    Column("filter_bits", Integer),
    Column("filter_slices", Integer),
    Column("ngram_filter", LargeBinary),
    Column("created_at", _INSTANT),
)

media_packs = Table(
    "media_pack",
    METADATA,
    Column("id", Uuid, primary_key=True),
    Column("tenant", Uuid),
    Column("experiment", Uuid),
    Column("trial", Uuid),
    Column("run", Uuid),
    Column("number", BigInteger),
    Column("state", Text),
    Column("size_bytes", BigInteger),
    Column("sha256", Text),
    Column("workspace", Text),
    Column("created_at", _INSTANT),
)

media = Table(
    "media",
    METADATA,
    Column("trial", Uuid, primary_key=True),
    Column("pack", BigInteger, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("tenant", Uuid),
    Column("pack_id", Uuid),
    Column("run", Uuid),
    Column("kind", Text),
    Column("group", Text),
    Column("name", Text),
    Column("step", BigInteger),
    Column("time_ms", BigInteger),
    Column("content_type", Text),
    Column("offset", BigInteger),
    Column("size_bytes", BigInteger),
    Column("sha256", Text),
    Column("about", JSONB),
)
