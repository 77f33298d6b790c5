"""Summarises futures as medians and ranges."""

from collections.abc import Callable, Iterable, Sequence

from shared.messages.plans import ExperimentPlan, OutlookRequest, RungTrials, Spread
from simulator.planning.worker_protocol import Basics, Future

LOW, HIGH = 0.1, 0.9


def summarize(
    on: str,
    basics: Basics,
    futures: Sequence[Future],
    background_jobs: Sequence[OutlookRequest],
    price: float | None,
    is_cut: bool,
) -> ExperimentPlan:
    """Summarise at least one future. `is_cut`: the time limit was reached before all futures were simulated."""
    is_timed = basics.step_s is not None
    hours = _spread(futures, lambda one: one.slot_hours) if is_timed else None
    notes = list(basics.notes)
    if is_cut:
        notes.append(
            f"the time limit was reached: the estimates are based on {len(futures)} simulations only"
        )
    return ExperimentPlan(
        on=on,
        basis="earlier_trials" if basics.earlier_runs else "stated_model",
        earlier_runs=basics.earlier_runs,
        earlier_experiments=basics.earlier_experiments,
        others_running=sum(one.count for one in background_jobs if one.workers),
        others_waiting=sum(one.count for one in background_jobs if not one.workers),
        futures=len(futures),
        unit=basics.unit,
        trials=_spread(futures, lambda one: one.trials),
        stopped=_spread(futures, lambda one: one.stopped),
        rungs=tuple(
            RungTrials(at=at, trials=_spread(futures, lambda one: one.reached.get(at, 0)))  # noqa: B023
            for at in sorted({at for one in futures for at in one.reached})
        ),
        steps=_spread(futures, lambda one: one.steps),
        slots=basics.slots,
        step_s=basics.step_s,
        slot_hours=hours,
        waits_s=_spread(futures, lambda one: one.waits_s) if is_timed else None,
        took_s=_spread(futures, lambda one: one.took_s) if is_timed else None,
        price_per_slot_hour=price,
        cost=_times(hours, price) if hours and price is not None else None,
        notes=tuple(notes),
    )


def _spread(futures: Iterable[Future], of: Callable[[Future], float]) -> Spread:
    ordered = sorted(of(one) for one in futures)
    last = len(ordered) - 1
    low, middle, high = (ordered[round(part * last)] for part in (LOW, 0.5, HIGH))
    return Spread(low=low, middle=middle, high=high)


def _times(spread: Spread, factor: float) -> Spread:
    return Spread(low=spread.low * factor, middle=spread.middle * factor, high=spread.high * factor)
