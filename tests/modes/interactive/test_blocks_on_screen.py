"""Blocks on a real screen: resizing, narrow and wide, screen readers, pictures, multiplexers."""

import base64
import struct
import zlib
from pathlib import Path

import pytest

from tau.agent import events as e
from tau.ai import stream_events as se
from tau.ai.faux import FauxStep, Say, Think, Use, Wait
from tau.ai.wire import BashExecutionMessage, ImageContent, ToolCall, ToolResultMessage
from tests.modes.interactive.rig import Rig, rigged, run
from tests.modes.interactive.test_event_controller import Script, answer, tell, update


def test_resizing_while_an_answer_streams_loses_no_line(tmp_path: Path) -> None:
    lines = [f"line number {number} of the answer" for number in range(60)]

    def reached(rig: Rig) -> int:
        """The last visible line."""
        return max((number for number, line in enumerate(lines) if line in rig.screen()), default=-1)

    steps: list[FauxStep] = [step for line in lines for step in (Say(f"{line}\n\n"), Wait(0.01))]

    async def test() -> None:
        async with rigged(tmp_path, [steps], rows=12) as rig:
            await rig.send("go")
            await rig.until(lambda: reached(rig) >= 5, "some lines")
            rig.terminal.resize(60, 14)
            await rig.until(lambda: reached(rig) >= 25, "more lines")
            rig.terminal.resize(100, 10)
            await rig.show("line number 59 ")
            await rig.idle()
            last = {row.strip(): at for at, row in enumerate(rig.terminal.tape())}
            places = [last[line] for line in lines]
            assert places == sorted(places)

    run(test)


def test_long_thinking_leaves_nothing_in_the_scrollback(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, rows=12) as rig:
            tell(rig, e.AgentStart(), e.MessageStart(answer()), update(se.ThinkingStart(0)))
            text = ""
            for number in range(60):
                piece = f"thought number {number}\n"
                text += piece
                tell(rig, update(se.ThinkingDelta(0, piece)))
                if number % 6 == 0:
                    await rig.drawn()
            tell(rig, update(se.ThinkingEnd(0, text)), update(se.TextStart(1)))
            tell(rig, update(se.TextDelta(1, "So it is.")), update(se.TextEnd(1, "So it is.")))
            await rig.show("So it is.")
            assert rig.tape().count("thought number") <= 12
            assert sum("Thought" in row for row in rig.terminal.tape()) == 1

    run(test)


@pytest.mark.parametrize("columns", [20, 40, 200])
def test_everything_fits_at_any_width(tmp_path: Path, columns: int) -> None:
    async def test() -> None:
        script: Script = [
            [
                Think("Long thoughts about it " * 10),
                Say("Words " * 40),
                Use("bash", command="echo " + "x" * 90),
            ],
            [Say("Done.")],
        ]
        async with rigged(tmp_path, script, columns=columns, rows=60) as rig:
            await rig.send("a rather long message for a narrow screen")
            await rig.show("Done.")
            await rig.idle()
            assert all(len(row) <= columns for row in rig.terminal.screen())

    run(test)


def test_screen_reader_hears_everything_once_and_no_signs(tmp_path: Path) -> None:
    async def test() -> None:
        script: Script = [[Say("Let me see."), Use("bash", command="echo hi")], [Say("It said hi.")]]
        async with rigged(tmp_path, script, rows=60, settings={"display.screenReader": True}) as rig:
            await rig.send("go")
            await rig.until(lambda: "It said hi." in rig.tape(), "the answer")
            await rig.idle()
            tape = rig.tape()
            assert tape.count("Let me see.") == 1 and tape.count("It said hi.") == 1
            assert "You: go" in tape
            assert "Done: " in tape and "✓" not in tape
            assert tape.count("Writing") <= 2

    run(test)


def png(side: int) -> str:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    pixels = zlib.compress((b"\0" + b"\xff\0\0" * side) * side)
    whole = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    return base64.b64encode(whole).decode()


def test_inline_pictures_are_limited_and_freed_with_their_session(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, rows=40, settings={"display.maxInlineImages": 2}) as rig:
            images = rig.terminal.images
            for number in range(3):
                call = ToolCall(f"c{number}", "camera", {})
                tell(rig, e.MessageStart(answer()), update(se.ToolCallStart(0, call.id, "camera")))
                tell(rig, update(se.ToolCallEnd(0, call)), e.MessageEnd(answer(call, stop="toolUse")))
                picture = ImageContent(png(40 + number), "image/png")
                tell(rig, e.MessageStart(ToolResultMessage(call.id, "camera", [picture], False, 0)))
            await rig.until(lambda: len(images.transmitted) == 2, "two pictures")
            await rig.press("ctrl+o")
            await rig.show("[Image: image/png]")
            await rig.press("q")
            await rig.until(lambda: not rig.terminal.alternate, "the normal screen")
            assert len(images.transmitted) == 2
            rig.parts.transcript.rebuild()
            await rig.until(lambda: not images.transmitted, "no pictures")

    run(test)


def test_nothing_is_scheduled_when_nothing_runs(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Done.")]]) as rig:
            await rig.send("go")
            await rig.show("Done.")
            await rig.idle()
            composed = rig.front.screen.stats.composed
            rig.skip(60)
            await rig.rested()
            assert rig.front.screen.stats.composed == composed

    run(test)


def test_calls_longer_than_the_window_are_final_in_the_scrollback(tmp_path: Path) -> None:
    async def test() -> None:
        wait = f"until [ -e {tmp_path}/go ]; do sleep 0.01; done"
        talks = f"for i in $(seq 1 20); do echo first_$i; done; {wait}; seq -f first_%g 21 40"
        script: Script = [
            [Use("bash", command=talks), Use("bash", command=f"seq -f second_%g 1 40; {wait}")],
            [Say("The end.")],
        ]
        async with rigged(tmp_path, script, rows=14) as rig:
            await rig.send("go")
            await rig.until(lambda: "first_" in rig.screen() and "second_40" in rig.screen(), "both at work")
            assert "Running bash" in rig.screen()
            (tmp_path / "go").touch()
            await rig.show("The end.")
            await rig.idle()
            tape = rig.terminal.tape()
            for name in ("first", "second"):
                titles = [row for row in tape if row.startswith(("•", "✓")) and name in row]
                assert len(titles) == 1 and titles[0].startswith("✓")
                for number in range(21, 41):
                    assert sum(row.strip() == f"{name}_{number}" for row in tape) == 1
                assert f"  {name}_1" not in tape

    run(test)


def test_long_user_command_is_final_in_the_scrollback(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, rows=14) as rig:
            line = rig.parts.transcript.add_execution("bash", "seq 1 90", exclude=False)
            for number in range(90):
                line.write(f"row {number}\n")
                if number % 10 == 0:
                    await rig.drawn()
            await rig.show("row 89")
            assert "! seq 1 90" in rig.screen()
            output = "".join(f"row {number}\n" for number in range(90))
            line.finish(BashExecutionMessage("seq 1 90", output, 3, False, False, 0))
            await rig.show("exit 3")
            tape = rig.terminal.tape()
            assert sum("! seq 1 90" in row for row in tape) == 1
            assert [row.strip() for row in tape if "row 7" in row] == [f"row {n}" for n in range(70, 80)]

    run(test)
