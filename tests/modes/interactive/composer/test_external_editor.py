"""Text edited in an external editor."""

import asyncio
import os
import sys
from pathlib import Path

import pexpect
import pytest

from tau.base.errors import TauError
from tau.modes.interactive.composer.editor_process import editor_command, run
from tests.modes.interactive.rig import rigged
from tests.modes.interactive.rig import run as run_test
from tests.support.limits import HANG_S


def script(folder: Path, text: str) -> str:
    path = folder / "my editor.sh"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return f'"{path}"'


def test_editor_comes_from_the_environment_or_a_fallback(tmp_path: Path) -> None:
    assert editor_command({"VISUAL": "code --wait", "EDITOR": "vi"}) == ["code", "--wait"]
    assert editor_command({"VISUAL": " ", "EDITOR": "'my vi' -n"}) == ["my vi", "-n"]
    nano = tmp_path / "nano"
    nano.write_text("")
    nano.chmod(0o755)
    assert editor_command({"PATH": str(tmp_path)}) == [str(nano)]
    with pytest.raises(TauError, match="set VISUAL or EDITOR"):
        editor_command({"PATH": "/nowhere"})
    with pytest.raises(TauError, match="Cannot parse VISUAL"):
        editor_command({"VISUAL": "'open"})


def test_text_goes_out_and_comes_back(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    os.environ["EDITOR"] = script(
        tmp_path, f'ls -l "$1" > {seen}; cat "$1" >> {seen}; printf "written\\noutside\\n" > "$1"'
    )

    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.type("from inside")
            await rig.press("ctrl+g")
            await rig.until(lambda: rig.front.editor.text == "written\noutside", "the text of the editor")
            await rig.show("outside")
            await rig.press("ctrl+-")
            assert rig.front.editor.text == "from inside"

    run_test(test)
    reported = seen.read_text()
    assert reported.startswith("-rw-------")
    assert ".md" in reported
    assert reported.endswith("from inside")


@pytest.mark.parametrize(
    ("editor", "remark"),
    [("false", "exited with code 1"), ("/nowhere/editor", "/nowhere/editor not found")],
)
def test_failing_editor_changes_nothing(tmp_path: Path, editor: str, remark: str) -> None:
    os.environ["EDITOR"] = editor

    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.type("mine")
            await rig.press("ctrl+g")
            shown = await rig.show(remark)
            assert "mine" in shown
            assert rig.front.editor.text == "mine"

    run_test(test)


def test_no_temporary_files_are_left(tmp_path: Path) -> None:
    os.environ["TMPDIR"] = str(tmp_path)
    assert asyncio.run(run(["true"], tmp_path)) == 0
    assert list(tmp_path.iterdir()) == []


PROGRAM = """
import asyncio, sys
from pathlib import Path
from tau.modes.interactive.composer.editor_process import run
print("code", asyncio.run(run(sys.argv[1:], Path("/"))), flush=True)
"""


def test_program_gets_a_pty_connected_to_the_terminal(tmp_path: Path) -> None:
    """Raw keys, a controlling terminal, and the window size, including changes."""
    inner = tmp_path / "inner.py"
    inner.write_text(
        "import os, signal, sys, tty\n"
        "signal.signal(signal.SIGWINCH, lambda *_: print('now', *os.get_terminal_size(1), flush=True))\n"
        "open('/dev/tty').close()\n"
        "tty.setraw(0)\n"
        "print('began', *os.get_terminal_size(1), end='\\r\\n', flush=True)\n"
        "while (key := os.read(0, 1)) != b'q':\n"
        "    print('key', key, end='\\r\\n', flush=True)\n"
        "sys.exit(3)\n"
    )
    child = pexpect.spawn(
        sys.executable,
        ["-c", PROGRAM, sys.executable, str(inner)],
        dimensions=(20, 70),
        encoding="utf-8",
        timeout=HANG_S,
        echo=False,
    )
    child.expect("began 70 20")
    child.send("\x03")  # reaches the program and stops nothing else
    child.expect(r"key b'\\x03'")
    child.setwinsize(30, 50)
    child.expect("now 50 30")
    child.send("q")
    child.expect("code 3")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


@pytest.mark.parametrize(
    ("does", "remark"),
    [
        ('printf "much work" > "$1"; exit 3', "exited with code 3; the text is unchanged."),
        ('printf "much work" > "$1"; kill -9 $$', "was killed by signal 9; the text is unchanged."),
    ],
)
def test_text_saved_before_the_editor_failed_is_in_the_history(
    tmp_path: Path, does: str, remark: str
) -> None:
    os.environ["EDITOR"] = script(tmp_path, does)

    async def test() -> None:
        async with rigged(tmp_path, columns=300) as rig:
            await rig.type("mine")
            await rig.press("ctrl+g")
            shown = await rig.show(remark)
            assert "What it saved is in the history; press Ctrl+R." in shown
            assert rig.front.editor.text == "mine"
            await rig.press("up")
            assert rig.front.editor.text == "much work"
            await rig.press("down")
            assert rig.front.editor.text == "mine"

    run_test(test)


@pytest.mark.parametrize(
    ("does", "remark"),
    [
        ('rm "$1"', "Cannot read the text: No such file or directory; keeping the old one."),
        ('rm "$1"; mkdir "$1"', "Cannot read the text: Is a directory; keeping the old one."),
        ('rm -r "$(dirname "$1")"; exit 1', "exited with code 1; the text is unchanged."),
        ('head -c 17000000 /dev/zero > "$1"', "keeping the old one."),
    ],
)
def test_unreadable_file_leaves_the_text_unchanged(tmp_path: Path, does: str, remark: str) -> None:
    os.environ["EDITOR"] = script(tmp_path, does)

    async def test() -> None:
        async with rigged(tmp_path, columns=160) as rig:
            await rig.type("mine")
            await rig.press("ctrl+g")
            await rig.show(remark)
            assert rig.front.editor.text == "mine"

    run_test(test)


def test_undecodable_bytes_are_reported(tmp_path: Path) -> None:
    os.environ["EDITOR"] = script(tmp_path, r'printf "caf\351 \033[31mred\000" > "$1"')

    async def test() -> None:
        async with rigged(tmp_path, columns=120) as rig:
            await rig.press("ctrl+g")
            await rig.show("Invalid UTF-8 in the text")
            assert rig.front.editor.text == "caf\ufffd red"

    run_test(test)


def test_pressing_the_key_twice_opens_one_editor(tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    os.environ["EDITOR"] = script(tmp_path, f'echo once >> {opened}; printf x >> "$1"')

    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.type("text")
            rig.terminal.press("ctrl+g")
            rig.terminal.press("ctrl+g")
            await rig.until(lambda: rig.front.editor.text == "textx", "the text of the editor")
            await rig.rested()
            assert rig.front.editor.text == "textx"

    run_test(test)
    assert opened.read_text() == "once\n"


def test_folded_paste_stays_folded_if_the_editor_left_it_alone(tmp_path: Path) -> None:
    pasted = "\n".join(f"line {number}" for number in range(5_000))
    os.environ["EDITOR"] = script(tmp_path, 'printf " and more" >> "$1"')

    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.type("see ")
            rig.terminal.paste(pasted)
            await rig.press("ctrl+g")
            await rig.show("see [Pasted text #1 +5,000 lines] and more")
            assert rig.front.editor.text == f"see {pasted} and more"
            await rig.press("ctrl+-")
            assert rig.front.editor.text == f"see {pasted}"

    run_test(test)
