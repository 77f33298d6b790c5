"""Convert events and decisions of a search to and from the facts of journal entries."""

from dataclasses import asdict, fields
from typing import Any

from pydantic import JsonValue

from services.searcher.core.budget.ledger import BudgetUsage, LedgerOpening, SlotUsage, TrialAccount
from services.searcher.core.budget.limits import BudgetLimits
from services.searcher.core.experiment.objectives import Scores
from services.searcher.core.journal.entries import Facts
from services.searcher.core.methods.custom import Operation, OperationKind
from services.searcher.core.methods.interface import RungDecision
from services.searcher.core.samplers import Suggestion
from services.searcher.core.search.actions import OperationResult, SearchActions
from shared.errors import Broken

_HOLDING = tuple(field.name for field in fields(SlotUsage))


def write_actions(actions: SearchActions) -> Facts:
    """Return the trials to create and resume as facts."""
    created: list[JsonValue] = [
        {
            "trial": each.number,
            **({"key": each.key} if each.key is not None else {}),
            "hyperparameters": each.point,
            "seed": each.seed,
            "decide_at": each.decide_at,
            **({"memo": each.memo} if each.memo else {}),
            **({"source": each.source} if each.source else {}),
        }
        for each in actions.created
    ]
    resumed: list[JsonValue] = [
        {"trial": each.trial, "decide_at": each.decide_at} for each in actions.resumed
    ]
    closed: Facts = {"closed": actions.closed} if actions.closed else {}
    return {"created": created, **({"resumed": resumed} if resumed else {}), **closed}


def write_operation_result(result: OperationResult) -> Facts:
    """Return the effects of operations as facts, without empty fields."""
    continued: list[JsonValue] = [
        {"trial": each.trial, "decide_at": each.decide_at} for each in result.continued
    ]
    found: Facts = {"continued": continued, "stopped": list(result.stopped), "dropped": list(result.dropped)}
    return {**write_actions(result.actions), **{key: value for key, value in found.items() if value}}


def write_operation(operation: Operation) -> Facts:
    """Return one operation of a driver program as facts."""
    return {name: value for name, value in asdict(operation).items() if value is not None and value != ""}


def read_operations(facts: Facts) -> list[Operation]:
    """Read the operations of a driver program."""
    written: Any = facts["operations"]
    return [Operation(**{**each, "verb": OperationKind(each["verb"])}) for each in written]


def read_suggestions(facts: Facts) -> dict[int, Suggestion]:
    """Read the points of the trials that were created."""
    created: Any = facts.get("created", ())
    return {each["trial"]: Suggestion(each["hyperparameters"], each.get("memo", {})) for each in created}


def read_result(facts: Facts) -> Scores | None:
    """Read the result of a trial."""
    others: Any = facts.get("others", {})
    return None if facts["value"] is None else Scores(read_number(facts, "value"), others)


def read_opening(facts: Facts) -> tuple[BudgetLimits | None, float]:
    """Read the limits of the budget and the price of a slot at the start."""
    limits: Any = facts.get("limits")
    return (BudgetLimits(**limits), read_number(facts, "price")) if limits else (None, 0.0)


def write_opening(opening: LedgerOpening) -> Facts:
    """Return the state from which a running search starts counting as facts."""
    return {
        "now_ms": opening.now_ms,
        "price": opening.price,
        "past": asdict(opening.past),
        "accounts": {str(trial): write_account(account) for trial, account in opening.accounts.items()},
    }


def read_ledger_opening(facts: Facts) -> LedgerOpening | None:
    """Read the state in which a search was given its first budget."""
    known: Any = facts.get("opening")
    if known is None:
        return None
    accounts = {int(trial): read_account(account) for trial, account in known["accounts"].items()}
    return LedgerOpening(known["now_ms"], known["price"], BudgetUsage(**known["past"]), accounts)


def write_account(account: TrialAccount) -> Facts:
    """Return a trial's usage account as facts. Written without `asdict` because every change of a trial writes it."""
    held, past = account.held, account.past
    holding: Facts | None = None
    if held is not None:
        holding = {name: getattr(held, name) for name in _HOLDING}
    used: Facts = {"wall_ms": past.wall_ms, "slot_ms": past.slot_ms, "cost": past.cost}
    return {"run": account.run, "held": holding, "past": used}


def read_account(facts: Any) -> TrialAccount:
    """Read a trial's usage account."""
    held = None if facts["held"] is None else read_holding(facts["held"])
    return TrialAccount(facts["run"], held, BudgetUsage(**facts["past"]))


def read_holding(facts: Any) -> SlotUsage:
    """Read what a run holds or has held. Older journals lack the pool."""
    return SlotUsage(**{name: facts[name] for name in _HOLDING if name in facts})


def write_decision(decision: RungDecision) -> Facts:
    """Return a decision about a result as facts."""
    ruled: Facts = {
        "stop": decision.stop,
        "reached_max_time": decision.reached_max_time,
        "decide_at": decision.decide_at,
    }
    return {**ruled, "pause": True} if decision.pause else ruled


def read_whole(facts: Facts, key: str) -> int:
    """Return an integer. Raises Broken if it is none."""
    value = facts[key]
    if not isinstance(value, int):
        raise Broken(f"the journal field '{key}' is not an integer")
    return value


def read_number(facts: Facts, key: str) -> float:
    """Return a number. Raises Broken if it is none."""
    value = facts[key]
    if not isinstance(value, int | float):
        raise Broken(f"the journal field '{key}' is not a number")
    return float(value)
