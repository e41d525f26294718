"""Terminal queries: answered, unanswered, late, in any chunking, with keys in between."""

import pytest

from tau.tui.input.decoder import InputDecoder
from tau.tui.input.key import InputEvent, Key, Paste
from tau.tui.terminal import sequences
from tau.tui.terminal.probes import EXPIRY_MS, KEYBOARD_MS, Probes, choose_probes
from tau.tui.terminal.replies import TerminalReply
from tests.support.fake_timer import FakeTimer
from tests.support.terminal.virtual import Answers, VirtualTerminal
from tests.tui.terminal.recording_watcher import RecordingWatcher

XTERM = {"TERM": "xterm-256color"}
DA1 = b"\x1b[?62;22c"
# All answers of a modern terminal, in the order of the queries.
ALL = (
    b"\x1b[?0u" + DA1,
    b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\" + DA1,
    b"\x1b[?2026;2$y\x1b[?2048;2$y\x1b[?2031;2$y" + DA1,
    b"\x1b]99;i=tau:p=?;p=title,body\x1b\\" + DA1,
    b"\x1b[6;20;10t" + DA1,
    b"\x1bP>|xterm.js(6.0.0)\x1b\\\x1b[>0;276;0c" + DA1,
)


class Asked:
    """Probes whose answers come through a buffer, like in a real terminal."""

    def __init__(self, env: dict[str, str] | None = None) -> None:
        self.timer = FakeTimer(50.0)
        self.kept = RecordingWatcher()
        self.written = ""
        self.probes = Probes(self._write, self.timer, self.kept, env or XTERM, "linux")
        self.buffer = InputDecoder(self._events, self.timer)
        self.probes.ask()

    def _write(self, text: str) -> None:
        self.written += text

    def _events(self, events: list[InputEvent | TerminalReply]) -> None:
        for event in events:
            if isinstance(event, Key | Paste):
                self.kept.on_input([event])
            else:
                self.probes.handle(event)

    def feed(self, data: bytes, then_ms: float = 0) -> "Asked":
        self.buffer.patient = self.probes.waiting
        self.buffer.feed(data)
        self.timer.advance(then_ms / 1000)
        return self

    def wait(self, ms: float) -> "Asked":
        self.timer.advance(ms / 1000)
        return self


def assert_all_found(asked: Asked) -> None:
    found = asked.probes.capabilities
    assert found.synchronized_output
    assert found.cell_pixels == (10, 20)
    assert found.reflows
    assert not found.cursor_follows_text
    assert asked.kept.backgrounds == ["light"]
    assert asked.probes.notify == "osc99"
    assert not asked.probes.waiting
    for on in (sequences.KITTY_KEYS_ON, sequences.RESIZE_REPORTS_ON, sequences.SCHEME_REPORTS_ON):
        assert asked.written.count(on) == 1
    assert sequences.OTHER_KEYS_ON not in asked.written


def test_every_query_is_followed_by_a_sentinel_in_one_write() -> None:
    asked = Asked()
    assert asked.written == (
        "\x1b[?u\x1b[c\x1b]11;?\x1b\\\x1b[c\x1b[?2026$p\x1b[?2048$p\x1b[?2031$p\x1b[c"
        "\x1b]99;i=tau:p=?;\x1b\\\x1b[c\x1b[16t\x1b[c\x1b[>q\x1b[>c\x1b[c"
    )
    assert asked.probes.unanswered == 6


def test_modern_terminal_gets_all_its_features() -> None:
    asked = Asked().feed(b"".join(ALL))
    assert_all_found(asked)
    assert asked.timer.pending == 0
    assert asked.kept.events == []


def test_answers_cut_at_any_byte_are_the_same_and_nothing_leaks() -> None:
    data = b"".join(ALL)
    for cut in range(1, len(data)):
        asked = Asked().feed(data[:cut], 60).feed(data[cut:])
        assert_all_found(asked)
        assert asked.kept.events == []


def test_answers_byte_by_byte_are_the_same_and_nothing_leaks() -> None:
    asked = Asked()
    for byte in b"".join(ALL):
        asked.feed(bytes([byte]), 0.5)
    assert_all_found(asked)
    assert asked.kept.events == []


def test_input_typed_between_the_answers_is_kept_in_order() -> None:
    asked = Asked()
    for number, answer in enumerate(ALL):
        asked.feed(str(number).encode() + answer)
    asked.feed(b"\x1b[A")
    assert asked.kept.names == ["0", "1", "2", "3", "4", "5", "up"]
    assert_all_found(asked)


def test_key_in_the_middle_of_an_answer_still_arrives() -> None:
    asked = Asked().feed(b"\x1b[?6\x1b[A").feed(b"\x1b]11;rgb:ff\x03")
    assert asked.kept.names == ["up", "ctrl+c"]


def test_overlong_answer_is_abandoned() -> None:
    asked = Asked().feed(b"\x1b[?" + b"1" * 300).feed(b"\x1b[A")
    assert asked.kept.names[-1] == "up"


def test_unresponsive_terminal_costs_nothing_and_gets_the_keyboard_fallback() -> None:
    asked = Asked()
    before = asked.written
    asked.wait(KEYBOARD_MS + 1)
    assert asked.written == before + sequences.OTHER_KEYS_ON
    asked.feed(b"x").wait(50)
    assert asked.feed(b"\r").kept.names == ["x", "enter"]
    asked.wait(EXPIRY_MS)
    assert not asked.probes.waiting
    assert asked.timer.pending == 0
    assert asked.probes.stop() == sequences.OTHER_KEYS_OFF


def test_terminal_that_answers_only_the_sentinels_lacks_the_rest_at_once() -> None:
    asked = Asked({**XTERM, "COLORFGBG": "0;15"}).feed(DA1)
    assert asked.written.endswith(sequences.OTHER_KEYS_ON)
    assert asked.feed(DA1).kept.backgrounds == ["light"]
    asked.feed(DA1 * 4)
    assert not asked.probes.waiting
    assert asked.timer.pending == 0
    assert not asked.probes.capabilities.synchronized_output


def test_late_keyboard_answer_replaces_the_fallback() -> None:
    asked = Asked().wait(KEYBOARD_MS + 1).feed(ALL[0])
    assert asked.written.endswith(
        sequences.OTHER_KEYS_ON + sequences.OTHER_KEYS_OFF + sequences.KITTY_KEYS_ON
    )
    assert asked.probes.stop() == sequences.KITTY_KEYS_OFF


def test_sentinels_belong_to_their_queries_in_order() -> None:
    asked = Asked().feed(b"\x1b[?0u").feed(DA1)
    assert sequences.OTHER_KEYS_ON not in asked.feed(DA1).written
    assert asked.probes.unanswered == 4


def test_answers_after_the_timeout_are_still_recognized() -> None:
    asked = Asked().wait(EXPIRY_MS + 1)
    asked.feed(b"".join(ALL))
    assert asked.kept.events == []
    assert asked.probes.capabilities.synchronized_output
    assert asked.probes.unanswered == 0


@pytest.mark.parametrize("state", [0, 4])
def test_terminal_corrects_what_its_name_promised(state: int) -> None:
    asked = Asked({"TERM": "xterm-kitty"})
    assert asked.probes.capabilities.synchronized_output
    asked.feed(f"\x1b[?2026;{state}$y".encode())
    assert not asked.probes.capabilities.synchronized_output
    assert asked.kept.capability_changes == 1


def test_user_choice_overrides_the_terminal() -> None:
    asked = Asked({**XTERM, "TAU_NO_SYNC_OUTPUT": "1"}).feed(b"\x1b[?2026;2$y")
    assert not asked.probes.capabilities.synchronized_output
    asked = Asked({**XTERM, "TAU_FORCE_SYNC_OUTPUT": "1"}).feed(b"\x1b[?2026;0$y")
    assert asked.probes.capabilities.synchronized_output
    asked = Asked({**XTERM, "TAU_NOTIFICATIONS": "off"}).feed(ALL[3])
    assert asked.probes.notify == "off"


def test_sixel_follows_the_device_attributes() -> None:
    assert Asked().feed(b"\x1b[?62;4c").probes.capabilities.images == "sixel"
    assert Asked().feed(b"\x1b[?4c").probes.capabilities.images == "none"
    assert Asked({"TERM": "tmux-256color"}).feed(b"\x1b[?62;4c").probes.capabilities.images == "none"
    off = {**XTERM, "TAU_FORCE_IMAGE_PROTOCOL": "off"}
    assert Asked(off).feed(b"\x1b[?62;4c").probes.capabilities.images == "none"


def test_background_change_is_passed_on() -> None:
    asked = Asked().feed(b"".join(ALL)).feed(b"\x1b[?997;1n").feed(b"\x1b[?997;2n")
    assert asked.kept.backgrounds == ["light", "dark", "light"]


def test_stop_disables_exactly_what_was_enabled() -> None:
    asked = Asked().feed(b"".join(ALL))
    undone = asked.probes.stop()
    assert undone == sequences.SCHEME_REPORTS_OFF + sequences.RESIZE_REPORTS_OFF + sequences.KITTY_KEYS_OFF
    assert asked.probes.stop() == ""
    assert Asked().probes.stop() == ""


def test_round_trip_is_measured() -> None:
    asked = Asked()
    assert asked.probes.round_trip_s is None
    assert asked.wait(40).feed(DA1).probes.round_trip_s == pytest.approx(0.04)
    assert asked.probes.capabilities.round_trip_s == pytest.approx(0.04)
    assert asked.probes.capabilities.reports_cursor


def test_terminal_is_known_by_what_it_answers() -> None:
    assert Asked().probes.capabilities.reflows
    assert not Asked().feed(b"\x1bP>|XTerm(390)\x1b\\").probes.capabilities.reflows
    for marked in (b"kitty(0.26.5)", b"ghostty 1.2.0"):  # over ssh, no variable says so
        assert Asked().feed(b"\x1bP>|" + marked + b"\x1b\\").probes.capabilities.erases_marked_rows
    for xterm_js in (b"\x1bP>|xterm.js(6.0.0)\x1b\\", b"\x1b[>0;276;0c"):
        found = Asked().feed(xterm_js).probes.capabilities
        assert found.reflows
        assert not found.cursor_follows_text
    found = Asked().feed(b"\x1bP>|kitty(0.35.2)\x1b\\\x1b[>1;4000;35c").probes.capabilities
    assert found.reflows
    assert found.cursor_follows_text


@pytest.mark.parametrize(
    ("env", "kinds"),
    [
        ({"TERM": "dumb"}, ()),
        ({"TERM": "linux"}, ()),
        ({"TERM": "screen", "STY": "x"}, ("keyboard",)),
        ({"TERM": "tmux-256color"}, ("keyboard", "background", "modes", "cell")),
        ({**XTERM, "TERM_PROGRAM": "Apple_Terminal"}, ("keyboard", "background")),
        (XTERM, ("keyboard", "background", "modes", "notifications", "cell", "version")),
    ],
)
def test_terminals_that_would_display_a_query_are_not_sent_it(
    env: dict[str, str], kinds: tuple[str, ...]
) -> None:
    assert choose_probes(env, "linux") == kinds


def test_terminal_without_queries_is_not_waited_for() -> None:
    asked = Asked({"TERM": "dumb", "COLORFGBG": "0;15"})
    assert asked.written == ""
    assert asked.timer.pending == 0
    assert asked.kept.backgrounds == ["light"]


def test_emulator_and_probes_agree() -> None:
    for answers, keys_on, background in (
        (Answers(), sequences.KITTY_KEYS_ON, "dark"),
        (Answers(kitty_keyboard=False, background="rgb:ffff/ffff/eeee"), sequences.OTHER_KEYS_ON, "light"),
    ):
        terminal = VirtualTerminal(answers=answers)
        asked = Asked()
        terminal.on_reply(lambda text, asked=asked: asked.feed(text.encode()))  # type: ignore[misc]
        terminal.write(asked.written)
        assert keys_on in asked.written
        assert asked.kept.backgrounds == [background]
        assert asked.probes.capabilities.synchronized_output
        assert asked.probes.notify == "osc99"
        assert asked.probes.unanswered == 0
        assert asked.kept.events == []
        assert terminal.tape() == VirtualTerminal().tape()
