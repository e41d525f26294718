"""When frames are drawn."""

from tau.tui.render.frame_loop import MIN_INTERVAL_S, Schedule
from tests.support.fake_timer import FakeTimer


class Clocked:
    """A schedule whose frames are noted with their times."""

    def __init__(self) -> None:
        self.timer = FakeTimer()
        self.drawn: list[float] = []
        self.schedule = Schedule(lambda: self.timer, self.draw)
        self.schedule.release()

    def draw(self) -> None:
        self.drawn.append(round(self.timer.time(), 4))
        self.schedule.drawn()


def test_many_requests_lead_to_one_frame() -> None:
    clocked = Clocked()
    for _ in range(5):
        clocked.schedule.request()
    clocked.timer.advance(1)
    assert clocked.drawn == [0.0]


def test_ordinary_frames_are_throttled() -> None:
    clocked = Clocked()
    for _ in range(200):
        clocked.schedule.request()
        clocked.timer.advance(0.001)
    pauses = [after - before for before, after in zip(clocked.drawn, clocked.drawn[1:], strict=False)]
    assert len(pauses) >= 5
    assert min(pauses) >= MIN_INTERVAL_S - 0.001


def test_urgent_request_is_not_throttled() -> None:
    clocked = Clocked()
    clocked.schedule.request()
    clocked.timer.advance(0.01)
    clocked.schedule.request()
    clocked.schedule.request(urgent=True)
    clocked.timer.advance(0)
    assert clocked.drawn == [0.0, 0.01]
    clocked.timer.advance(1)
    assert clocked.drawn == [0.0, 0.01]


def test_nothing_is_scheduled_without_a_request() -> None:
    clocked = Clocked()
    clocked.schedule.request()
    clocked.timer.advance(1)
    assert clocked.timer.pending == 0


def test_requests_while_held_are_drawn_afterwards() -> None:
    clocked = Clocked()
    clocked.schedule.hold()
    clocked.schedule.request(urgent=True)
    clocked.timer.advance(1)
    assert clocked.drawn == []
    clocked.schedule.release()
    clocked.timer.advance(0)
    assert clocked.drawn == [1.0]


def test_request_before_the_hold_is_not_lost() -> None:
    clocked = Clocked()
    clocked.schedule.request()
    clocked.schedule.hold()
    clocked.schedule.release()
    clocked.timer.advance(0.1)
    assert len(clocked.drawn) == 1


def test_fake_timer_runs_calls_in_time_order() -> None:
    timer, order = FakeTimer(), []

    def first() -> None:
        order.append("first")
        timer.call_later(0.5, order.append, "third")

    timer.call_later(2, order.append, "fourth")
    timer.call_later(1, first)
    timer.call_later(1, order.append, "second")
    timer.call_later(1, order.append, "never").cancel()
    timer.advance(3)
    assert order == ["first", "second", "third", "fourth"]
    assert timer.time() == 3
