"""What a training goes back to when another rank is lost; the gang itself is of the tests of workers."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from horovod.common.exceptions import HorovodInternalError

from muster import Trial
from muster._trial.worker_link.heartbeat import HeartbeatWriter
from muster.elastic import resize
from muster.elastic.state_sync import copied


class Line:
    """A model of one weight, trained with momentum."""

    number = 0

    def __init__(self) -> None:
        self.weight = torch.nn.Parameter(torch.ones(1))
        self.optimizer = torch.optim.SGD([self.weight], 0.1, momentum=0.9)

    def train(self) -> None:
        self.weight.grad = torch.ones(1)
        self.optimizer.step()

    def standing(self) -> tuple[float, float]:
        """The weight, and its momentum."""
        return float(self.weight.detach()), float(self.optimizer.state[self.weight]["momentum_buffer"])

    def state_dict(self) -> dict[str, Any]:
        return {"weight": self.weight.detach(), "optimizer": self.optimizer.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.weight.data.copy_(state["weight"])
        self.optimizer.load_state_dict(state["optimizer"])

    def drop_gradients(self) -> None:
        self.optimizer.zero_grad()

    def on_resized(self) -> None:
        return


def test_ranks_that_are_lost_one_after_the_other_cost_no_more_than_what_was_done_since_the_copy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trial, line = _trial(monkeypatch), Line()
    line.train()
    before = line.standing()
    living = resize.Resizing(cast(Trial, trial), line)
    for size in (3, 2, 1):
        assert living.may_go_on()
        trial.next_size = size
        with living.step():
            line.train()
            _meet_a_broken_gang()
        assert line.standing() == before


def test_a_gang_that_breaks_at_one_place_again_and_again_though_nobody_is_lost_is_the_scripts_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trial, line = _trial(monkeypatch), Line()
    living = resize.Resizing(cast(Trial, trial), line)
    for place in (1, 2):
        for _ in range(resize.MAX_FAILURES_WITHOUT_PROGRESS):
            assert living.may_go_on()
            with living.step():
                line.train()
                _meet_a_broken_gang()
        assert living.may_go_on()
        line.number = place
    for _ in range(resize.MAX_FAILURES_WITHOUT_PROGRESS):
        with living.step():
            _meet_a_broken_gang()
    with pytest.raises(HorovodInternalError), living.step():
        _meet_a_broken_gang()


def test_a_rank_that_joins_others_in_a_later_loop_goes_on_there_with_what_they_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its script passes the earlier loop, and what stands between, without a word to the others."""
    asked: list[str] = []
    given = Line()
    given.train()

    def should_stop() -> bool:
        asked.append("should_stop")
        return False

    seat = SimpleNamespace(is_due=True, join=lambda: SimpleNamespace(rank=1, size=2))
    monkeypatch.setattr(resize, "open_reforming", lambda environment: seat)
    monkeypatch.setattr(resize, "from_first", lambda gang, state: copied(given.state_dict()))
    trial = SimpleNamespace(
        rank=1,
        size=2,
        should_stop=should_stop,
        _gang=None,
        _resizing=None,
        _heartbeat=HeartbeatWriter("", 0),
        _environment=None,
        _take_gang=lambda gang: None,
    )
    line = Line()
    joining = resize.Resizing(cast(Trial, trial), line)
    assert joining.may_go_on()
    seat.is_due = False
    asked.clear()
    joining.put_off()
    joining.restart()
    line.train()  # what stands between the loops
    assert joining.may_go_on() and not asked
    assert line.standing() == given.standing()
    assert joining.may_go_on() and asked == ["should_stop"]


def _trial(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A trial of four ranks; `next_size`: how many the gang has when it has formed anew."""
    left = SimpleNamespace(rank=0, size=1)
    seat = SimpleNamespace(is_due=False, join=lambda: left, on_broken=lambda: None)
    monkeypatch.setattr(resize, "open_reforming", lambda environment: seat)
    monkeypatch.setattr(resize, "COMMIT_TIME_SHARE", 1e-9)  # one copy, before the first step
    trial = SimpleNamespace(
        rank=0,
        size=4,
        next_size=4,
        should_stop=lambda: False,
        _gang=None,
        _resizing=None,
        _heartbeat=HeartbeatWriter("", 0),
        _environment=None,
    )
    trial._take_gang = lambda gang: setattr(trial, "size", trial.next_size)
    return trial


def _meet_a_broken_gang() -> None:
    raise HorovodInternalError
