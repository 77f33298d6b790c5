"""Tables and queries of the provisioner. All data belongs to the site, so the system role reads and writes it."""

from services.provisioner.store.costs import (
    PoolUsage,
    ProvidedWorkers,
    load_provided_workers,
    load_spending,
    load_spent,
    load_used,
)
from services.provisioner.store.instances import (
    correct_bill,
    load_bills,
    load_by_worker,
    load_intent,
    load_live,
    lock_by_workers,
    lock_live,
    save_change,
    save_new,
)
from services.provisioner.store.launch_backoffs import clear_holds, load_backoffs, save_hold
from services.provisioner.store.pools import (
    PoolRecord,
    change_provider,
    close_pool,
    drop_pool,
    load_providers,
    published_fields,
    save_demand,
    save_pool,
    seed_provider,
)

__all__ = [
    "PoolRecord",
    "ProvidedWorkers",
    "PoolUsage",
    "change_provider",
    "clear_holds",
    "close_pool",
    "correct_bill",
    "drop_pool",
    "load_bills",
    "load_by_worker",
    "load_backoffs",
    "load_intent",
    "load_live",
    "load_providers",
    "load_spending",
    "load_spent",
    "load_provided_workers",
    "load_used",
    "lock_by_workers",
    "lock_live",
    "save_change",
    "save_demand",
    "save_hold",
    "save_new",
    "save_pool",
    "seed_provider",
    "published_fields",
]
