"""${message}"""

from alembic import op

from shared.database.engine import delivery_tables, protect

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None
# The oldest revision whose release works on the schema after this one: the predecessor's value if this migration only adds.
compatible_from = ${repr(down_revision)}


def upgrade() -> None:
    ${upgrades if upgrades else "pass"}
