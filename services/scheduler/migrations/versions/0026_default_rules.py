"""Trials that ignore the preemption signal; and new default rules of pools, with earlier explicit settings written out."""

from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None
compatible_from = "0025"

_BEFORE = (
    '{"order": "priority", "elastic": false, "ageing_s": null, "half_life_s": 86400.0, "min_run_s": 0.0,'
    ' "max_preemptions": null, "quantum_s": null, "defragment": false, "topology": [], "placement": "best_fit"}'
)
_NOW = '{"order": "fair_share", "elastic": true, "quantum_s": 600.0}'


def upgrade() -> None:
    op.execute("ALTER TABLE scheduler.trial ADD COLUMN ignores_signals boolean NOT NULL DEFAULT false")
    # Missing rules are read as defaults, so configured pools get the previous defaults written out.
    op.execute(f"UPDATE scheduler.pool SET rules = '{_BEFORE}'::jsonb || rules WHERE is_edited")
    op.execute(
        f"UPDATE scheduler.pool SET preemption = true, rules = rules || '{_NOW}'::jsonb WHERE NOT is_edited"
    )
