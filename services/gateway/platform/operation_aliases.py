"""Short names for the values in the table of operations."""

from services.gateway.platform.audit.records import Audited
from services.gateway.platform.auth.permissions import Permission
from services.gateway.platform.operation import Idempotency

READ_EXPERIMENT, WRITE_EXPERIMENT = Permission.EXPERIMENT_READ, Permission.EXPERIMENT_WRITE
READ_MODEL, WRITE_MODEL = Permission.MODEL_READ, Permission.MODEL_WRITE
APPROVE_MODEL, DOWNLOAD = Permission.MODEL_APPROVE, Permission.CHECKPOINT_DOWNLOAD
SEE_ACCESS, GRANT, MANAGE_ACCESS = Permission.ACCESS_READ, Permission.ACCESS_GRANT, Permission.ACCESS_MANAGE
POLICY, WEBHOOKS, SECRETS = Permission.POLICY_MANAGE, Permission.WEBHOOK_MANAGE, Permission.SECRET_MANAGE
CLUSTER, MANAGE = Permission.CLUSTER_READ, Permission.CLUSTER_MANAGE
AUDITED_READ = Audited.READ
SAFE, NATURAL, KEY = Idempotency.SAFE, Idempotency.NATURAL, Idempotency.KEY
