"""Drafts across restarts, as a user sees them."""

import os
import re
import signal
import time
from pathlib import Path

import pexpect
import pytest

from tau.ai.faux import Say
from tau.ai.wire import ImageContent, TextContent
from tau.modes.interactive.composer import draft_autosave
from tests.e2e.program import Program
from tests.modes.interactive.composer.test_attachments import png
from tests.modes.interactive.rig import rigged, run
from tests.support.fake_server import FakeServer
from tests.support.limits import HANG_S


def kept() -> list[Path]:
    """The draft files, except those being written."""
    return sorted((Path(os.environ["TAU_HOME"]) / "drafts").glob("*.json"))


def test_draft_is_saved_while_typing_and_restored(tmp_path: Path) -> None:
    pasted = "\n".join(f"line {number}" for number in range(40))

    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.type("half a ")
            rig.terminal.paste(pasted)
            rig.skip(draft_autosave.PAUSE_S)
            await rig.until(lambda: len(kept()) == 1 and b"line 39" in kept()[0].read_bytes(), "the draft")
        async with rigged(tmp_path) as rig:
            shown = await rig.show("half a [Pasted text #1 +40 lines]")
            assert re.search(r"Restored your draft from [^\n]+\.", shown)
            assert rig.front.editor.text == f"half a {pasted}"

    run(test)


def test_draft_is_removed_when_sent_or_cleared(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Yes.")]]) as rig:
            for key in ("enter", "ctrl+c"):
                await rig.type("something")
                rig.skip(draft_autosave.PAUSE_S)
                await rig.until(lambda: len(kept()) == 1, "the draft")
                await rig.press(key)
                rig.skip(draft_autosave.PAUSE_S)
                await rig.until(lambda: kept() == [], "no draft")
                await rig.idle()
        async with rigged(tmp_path) as rig:
            await rig.rested()
            assert rig.front.editor.is_empty

    run(test)


def test_exit_saves_the_latest_draft(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.type("typed a moment ago")
            assert kept() == []
            rig.parts.input.detach()
            assert len(kept()) == 1

    run(test)


def test_empty_draft_creates_no_file(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.type("x")
            await rig.press("backspace")
            rig.parts.input.detach()

    run(test)
    assert not (Path(os.environ["TAU_HOME"]) / "drafts").exists()


def test_restored_draft_does_not_mix_with_typed_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    restore = draft_autosave.DraftAutosave.restore

    def typed_first(keeper: draft_autosave.DraftAutosave) -> None:
        keeper._editor.insert("already typing")
        restore(keeper)

    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.type("the old draft")
            rig.skip(draft_autosave.PAUSE_S)
            await rig.until(lambda: len(kept()) == 1, "the draft")
        monkeypatch.setattr(draft_autosave.DraftAutosave, "restore", typed_first)
        async with rigged(tmp_path) as rig:
            await rig.show("is in the history")
            assert rig.front.editor.text == "already typing"
            await rig.press("up")
            assert rig.front.editor.text == "the old draft"
            await rig.press("down")
            assert rig.front.editor.text == "already typing"

    run(test)


def test_viewed_history_entry_is_not_a_draft(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Yes.")]]) as rig:
            await rig.send("sent before")
            await rig.idle()
            await rig.press("up")
            assert rig.front.editor.text == "sent before"
            rig.skip(draft_autosave.PAUSE_S)
            await rig.rested()
            assert kept() == []

    run(test)


@pytest.mark.parametrize("end", [signal.SIGHUP, signal.SIGKILL])
def test_real_program_restores_the_draft_after_it_was_killed(tmp_path: Path, end: int) -> None:
    with FakeServer() as server:
        program = Program(server, tmp_path)
        child = program.terminal(term="xterm-256color")
        child.expect("fake-model")
        child.send("typed and never sent")
        child.expect("never sent")
        if end == signal.SIGKILL:  # it gets no chance to save: what was saved a second after the keys stays
            wait_for_draft("never sent")
        child.kill(end)
        child.expect(pexpect.EOF)
        child.close()
        assert [path for path in kept() if b"never sent" in path.read_bytes()]
        child = program.terminal(term="xterm-256color")
        child.expect("typed and never sent")
        child.expect("Restored your draft from ")
        child.send("\x03\x03")
        child.expect(pexpect.EOF)
        child.close()
        assert kept() == []


def wait_for_draft(text: str) -> None:
    end = time.monotonic() + HANG_S
    while not any(text.encode() in path.read_bytes() for path in kept()):
        assert time.monotonic() < end, "the draft was not saved"
        time.sleep(0.02)


def test_draft_is_kept_when_a_recalled_prompt_is_sent(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Yes.")], [Say("Yes.")]]) as rig:
            await rig.send("sent before")
            await rig.idle()
            await rig.type("my long draft")
            rig.skip(draft_autosave.PAUSE_S)
            await rig.until(lambda: len(kept()) == 1, "the draft")
            await rig.press("up")
            await rig.press("enter")
            await rig.idle()
            assert rig.front.editor.text == "my long draft"
            rig.skip(draft_autosave.PAUSE_S)
            await rig.until(lambda: len(kept()) == 1 and b"my long draft" in kept()[0].read_bytes(), "it")

    run(test)


def test_draft_is_kept_while_a_recalled_prompt_is_edited_or_emptied(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Yes.")]]) as rig:
            await rig.send("sent before")
            await rig.idle()
            await rig.type("my long draft")
            await rig.press("up")
            await rig.type(" and changed")
            rig.skip(draft_autosave.PAUSE_S)
            await rig.until(lambda: bool(kept()) and b"and changed" in kept()[0].read_bytes(), "both texts")
            assert b"my long draft" in kept()[0].read_bytes()
            await rig.press("ctrl+u")
            rig.skip(draft_autosave.PAUSE_S)
            await rig.until(lambda: b"changed" not in kept()[0].read_bytes(), "the draft alone")
            assert b"my long draft" in kept()[0].read_bytes()
            await rig.press("ctrl+-")
            rig.skip(draft_autosave.PAUSE_S)
            await rig.until(lambda: b"changed" in kept()[0].read_bytes(), "both texts again")
        async with rigged(tmp_path) as rig:
            await rig.show("sent before and changed")
            await rig.press("home", "up")
            assert rig.front.editor.text == "my long draft"

    run(test)


def test_hasty_double_ctrl_c_leaves_the_text_in_the_history(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.type("much work")
            await rig.press("ctrl+c", "ctrl+c")
        assert kept() == []
        async with rigged(tmp_path) as rig:
            assert rig.front.editor.is_empty
            await rig.press("up")
            await rig.until(lambda: rig.front.editor.text == "much work", "the text")

    run(test)


def test_draft_is_restored_with_folded_pastes_and_pictures_at_another_size(tmp_path: Path) -> None:
    pasted = "\n".join(f"line {number}" for number in range(40))
    picture = png(tmp_path)

    async def test() -> None:
        async with rigged(tmp_path, columns=120, rows=40) as rig:
            await rig.type("look at ")
            rig.terminal.paste(str(picture))
            await rig.show("[shot.png")
            rig.terminal.paste(pasted)
            await rig.type("日本語 and " + "many words " * 20)
            text = rig.front.editor.text
        async with rigged(tmp_path, [[Say("Seen.")]], columns=24, rows=12) as rig:
            await rig.until(lambda: rig.front.editor.text == text, "the draft")
            await rig.press("enter")
            await rig.show("Seen.")
            message, image = rig.faux.requests[-1].messages[-1].content
            assert isinstance(message, TextContent) and message.text.strip() == text.strip()
            assert isinstance(image, ImageContent)

    run(test)


def test_draft_survives_the_removal_of_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()

    async def test() -> None:
        async with rigged(folder) as rig:
            await rig.type("typed in a folder that goes")
            folder.rmdir()
        assert len(kept()) == 1
        folder.mkdir()
        async with rigged(folder) as rig:
            await rig.show("typed in a folder that goes")

    run(test)
