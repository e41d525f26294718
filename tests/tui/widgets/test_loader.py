"""The spinner: it turns, shows the time, can be stopped, and rests without motion."""

from tau.tui.component import Component
from tau.tui.input.bindings import Keymap
from tau.tui.input.key import Key
from tau.tui.style import Theme
from tau.tui.text.width import visible_width
from tau.tui.widgets.loader import CancellableLoader, Loader, format_elapsed
from tests.support.fake_timer import FakeTimer

FRAMES = Theme({}).symbols.spinner


class Stage:
    """A clock, and a screen that records frame requests."""

    def __init__(self) -> None:
        self.timer = FakeTimer()
        self.asked: list[Component] = []

    def loader(self, theme: Theme | None = None, message: str = "Working", elapsed: bool = False) -> Loader:
        return Loader(
            theme or Theme({}),
            message,
            timer=self.timer,
            request_render=self.asked.append,
            show_elapsed=elapsed,
        )


def test_spinner_turns_every_80_ms_and_requests_only_itself() -> None:
    stage = Stage()
    loader = stage.loader()
    assert stage.timer.pending == 0
    loader.start()
    assert loader.render(40) == [f"{FRAMES[0]} Working"]
    stage.asked.clear()
    stage.timer.advance(0.08)
    assert loader.render(40) == [f"{FRAMES[1]} Working"]
    assert stage.asked == [loader]
    stage.timer.advance(0.8)
    assert len(stage.asked) == 11
    assert loader.render(40) is loader.render(40)


def test_after_stop_nothing_is_scheduled() -> None:
    stage = Stage()
    loader = stage.loader()
    loader.start()
    loader.start()
    assert stage.timer.pending == 1
    stage.timer.advance(2.0)
    loader.stop()
    loader.stop()
    stage.asked.clear()
    assert stage.timer.pending == 0
    stage.timer.advance(5)
    assert stage.asked == []
    assert loader.elapsed_s == 2.0
    assert loader.render(40) == ["Working"]


def test_without_motion_nothing_is_scheduled() -> None:
    for theme in (Theme({}, motion=False), Theme({}, linear=True)):
        stage = Stage()
        loader = stage.loader(theme)
        loader.start()
        assert stage.timer.pending == 0
        assert loader.render(40)[0].endswith("Working")
        theme.motion, theme.linear = True, False
        loader.invalidate()
        assert stage.timer.pending == 1
        loader.stop()


def test_message_detail_and_time_are_side_by_side() -> None:
    stage = Stage()
    loader = stage.loader(message="Read\x1b[2Jing\n", elapsed=True)
    loader.start()
    loader.detail = "1.2k tokens"
    assert loader.render(60) == [f"{FRAMES[0]} Reading (1.2k tokens)"]
    stage.timer.advance(65)
    loader.message = "Writing"
    assert loader.render(60)[0].endswith(" Writing (1 min 05 s, 1.2k tokens)")
    before = len(stage.asked)
    loader.message = "Writing"
    loader.detail = "1.2k tokens"
    assert len(stage.asked) == before
    assert (loader.message, loader.detail) == ("Writing", "1.2k tokens")


def test_narrow_row_is_cut() -> None:
    stage = Stage()
    loader = stage.loader(message="a long message")
    loader.start()
    assert loader.render(5) == [f"{FRAMES[0]} a …"]
    assert loader.render(1) == ["…"]


def test_escape_stops_the_work_once() -> None:
    stage = Stage()
    stopped: list[bool] = []
    loader = CancellableLoader(
        Theme({}),
        Keymap(),
        timer=stage.timer,
        request_render=stage.asked.append,
        on_abort=lambda: stopped.append(True),
    )
    assert not loader.handle_input(Key("escape"))
    loader.start()
    assert loader.render(60) == [f"{FRAMES[0]} Working ({Keymap().label('tui.select.cancel')} stops it)"]
    assert not loader.handle_input(Key("x", "x"))
    assert loader.handle_input(Key("escape"))
    assert loader.handle_input(Key("escape"))
    assert stopped == [True]
    assert loader.aborted
    assert loader.render(60)[0].endswith("(stopping)")
    loader.start()
    assert not loader.aborted
    loader.stop()


def test_durations_are_human_readable() -> None:
    assert [format_elapsed(s) for s in (0, 7.9, 65, 3599, 3780)] == [
        "0 s",
        "7 s",
        "1 min 05 s",
        "59 min 59 s",
        "1 h 03 min",
    ]


def test_on_a_narrow_screen_the_stop_key_stays_longest() -> None:
    stage = Stage()
    loader = CancellableLoader(
        Theme({}),
        Keymap(),
        "Running bash",
        timer=stage.timer,
        request_render=stage.asked.append,
        show_elapsed=True,
    )
    loader.start()
    loader.detail = "140 tokens"
    stage.timer.advance(12)
    reported = [loader.render(width)[0].partition("bash")[2] for width in (60, 40, 30)]
    assert reported == [" (12 s, 140 tokens, Esc stops it)", " (12 s, Esc stops it)", " (Esc stops it)"]
    assert visible_width(loader.render(10)[0]) <= 10
