"""Pictures in messages: dropped, pasted, sent, and never lost with the text."""

import asyncio
import os
from base64 import b64encode
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from PIL import Image

from tau.ai.faux import FAUX_MODEL, Say, Wait
from tau.ai.wire import ImageContent, TextContent, UserMessage
from tau.modes.interactive.composer import attachments as pictures_module
from tests.modes.interactive.rig import Rig, rigged, run


def png(folder: Path, name: str = "shot.png", size: tuple[int, int] = (30, 20)) -> Path:
    path = folder / name
    Image.new("RGB", size, "red").save(path)
    return path


def sent(rig: Rig, number: int = -1) -> tuple[str, list[ImageContent]]:
    """The text and the pictures of the last message of a request."""
    content: Any = rig.faux.requests[number].messages[-1].content
    assert isinstance(content, list)
    text = "".join(part.text for part in content if isinstance(part, TextContent))
    return text, [part for part in content if isinstance(part, ImageContent)]


def test_dropped_file_becomes_a_mark_and_is_sent_with_the_text(tmp_path: Path) -> None:
    path = png(tmp_path, "my shot.png")

    async def test() -> None:
        async with rigged(tmp_path, [[Say("A red one.")]]) as rig:
            await rig.type("what is")
            rig.terminal.paste(f"{path} ")
            shown = await rig.show("[my shot.png ")
            assert "what is [my shot.png" in shown
            await rig.type("this?")
            await rig.press("enter")
            await rig.show("A red one.")
            text, images = sent(rig)
            assert text == "what is [Image #1: my shot.png] this?"
            assert [image.mime_type for image in images] == ["image/png"]

    run(test)


def test_several_files_are_several_marks_in_order(tmp_path: Path) -> None:
    one, two = png(tmp_path, "one.png"), png(tmp_path, "two.png", (10, 10))

    async def test() -> None:
        async with rigged(tmp_path, [[Say("Seen.")]]) as rig:
            rig.terminal.paste(f"file://{one}\nfile://{two}\n")
            await rig.show("[two.png ")
            await rig.press("enter")
            await rig.show("Seen.")
            text, images = sent(rig)
            assert text == "[Image #1: one.png] [Image #2: two.png] "
            assert len(images) == 2
            assert images[0].data != images[1].data

    run(test)


def test_fake_picture_stays_a_path_beside_real_ones(tmp_path: Path) -> None:
    one, two = png(tmp_path, "one.png"), tmp_path / "two.png"
    two.write_text("no picture")

    async def test() -> None:
        async with rigged(tmp_path) as rig:
            rig.terminal.paste(f"{one}\n{two}\n")
            await rig.show("[one.png ")
            assert rig.front.editor.text == f"[Image #1: one.png] {two} "

    run(test)


def test_deleting_a_mark_removes_the_attachment(tmp_path: Path) -> None:
    path = png(tmp_path)

    async def test() -> None:
        async with rigged(tmp_path, [[Say("Fine.")]]) as rig:
            rig.terminal.paste(str(path))
            await rig.show("[shot.png ")
            await rig.press("backspace", "backspace")
            await rig.gone("[shot.png ")
            await rig.send("only text")
            await rig.show("Fine.")
            assert rig.faux.requests[-1].messages[-1].content == "only text"

    run(test)


def test_text_that_names_a_picture_is_text(tmp_path: Path) -> None:
    path = png(tmp_path)
    fake = tmp_path / "fake.png"
    fake.write_text("no picture at all")

    async def test() -> None:
        async with rigged(tmp_path, columns=200) as rig:
            rig.terminal.paste(f"look at {path}")
            rig.terminal.paste(f" {fake}")
            await rig.show("fake.png")
            assert rig.front.editor.text == f"look at {path} {fake}"

    run(test)


def test_model_without_image_support_is_reported_first_and_the_draft_stays(tmp_path: Path) -> None:
    path = png(tmp_path)

    async def test() -> None:
        async with rigged(tmp_path, [[Say("Text only.")]]) as rig:
            rig.session.use_model(replace(FAUX_MODEL, input=("text",)))
            await rig.type("see ")
            rig.terminal.paste(str(path))
            await rig.show("[shot.png ")
            await rig.press("enter")
            shown = await rig.show("does not accept images")
            assert "see [shot.png " in shown
            assert rig.faux.requests == []
            rig.session.use_model(FAUX_MODEL)
            await rig.press("enter")
            await rig.show("Text only.")
            assert len(sent(rig)[1]) == 1

    run(test)


def test_large_picture_is_scaled_down_while_typing_continues(tmp_path: Path) -> None:
    path = tmp_path / "large.png"
    Image.effect_noise((1700, 500), 80).save(path)

    async def test() -> None:
        async with rigged(tmp_path, [[Say("Large.")]]) as rig:
            rig.terminal.paste(str(path))
            rig.terminal.type("and this")
            rig.terminal.press("enter")
            rig.terminal.type("the next message waits for it")
            rig.terminal.press("enter")
            await rig.show("Large.")
            await rig.idle()
            text, images = sent(rig, 0)
            assert text == "[Image #1: large.png] and this"
            assert len(images[0].data) < path.stat().st_size
            messages = [m for m in rig.session.log.context().messages if isinstance(m, UserMessage)]
            assert messages[-1].content == "the next message waits for it"

    run(test)


def test_unsendable_picture_returns_the_text_to_the_editor(tmp_path: Path) -> None:
    path = png(tmp_path)

    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.type("see ")
            rig.terminal.paste(str(path))
            path.unlink()
            rig.terminal.press("enter")
            shown = await rig.show("Cannot send [Image #1: shot.png]")
            assert "Delete the placeholder" in shown
            assert rig.front.editor.text == "see [Image #1: shot.png] "
            assert rig.faux.requests == []

    run(test)


def test_dequeued_message_keeps_its_picture(tmp_path: Path) -> None:
    path = png(tmp_path)

    async def test() -> None:
        async with rigged(tmp_path, [[Wait()], [Say("Seen.")]]) as rig:
            await rig.send("begin")
            await rig.until(lambda: rig.current.running, "the run")
            rig.terminal.paste(str(path))
            await rig.type("for later")
            await rig.press("enter")
            await rig.until(lambda: len(rig.session.queue) == 1, "the queue")
            await rig.press("alt+up")
            assert rig.front.editor.text == "[Image #1: shot.png] for later"
            await rig.press("escape")
            await rig.idle()
            await rig.press("enter")
            await rig.show("Seen.")
            assert len(sent(rig)[1]) == 1

    run(test)


def test_restored_queued_message_keeps_its_pictures(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            pictures = rig.parts.composer.sender._attachments
            text = pictures.restore("see", [ImageContent("QUJD", "image/png")])
            assert text == "see [Image #1: picture]"
            assert [image.data for image in await pictures.load(text)] == ["QUJD"]

    run(test)


def test_conflicting_marks_get_new_numbers(tmp_path: Path) -> None:
    path = png(tmp_path)

    async def test() -> None:
        async with rigged(tmp_path, [[Say("Red.")]]) as rig:
            pictures = rig.parts.composer.sender._attachments
            rig.terminal.paste(str(path))
            await rig.press("enter")
            await rig.show("Red.")
            own = sent(rig)[1][0]
            other, third = ImageContent("QUJD", "image/png"), ImageContent("REVG", "image/png")
            # Marks sent in this process keep their meaning; similar ones from another session do not.
            assert pictures.restore("a [Image #1: shot.png]", [own]) == "a [Image #1: shot.png]"
            text = pictures.restore("b [Image #1: shot.png] [Image #2: x.png]", [other, third])
            assert text == "b [Image #3: shot.png] [Image #2: x.png]"
            assert await pictures.load(text) == [other, third]
            assert await pictures.load("[Image #1: shot.png]") == [own]
            # A placeholder typed by hand is plain text.
            assert pictures.restore("[Image #9: typed]", []) == "[Image #9: typed]"
            typed = "[Image #8: a] [Image #9: b]"
            assert pictures.restore(typed, [other]) == f"{typed} [Image #4: picture]"

    run(test)


def test_restored_message_has_its_picture_as_one_unit_with_a_file(tmp_path: Path) -> None:
    path = png(tmp_path)
    content = ImageContent(b64encode(path.read_bytes()).decode(), "image/png")

    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.type("being written")
            sending = rig.parts.composer.sender
            sending.load_message("see [Image #1: shot.png] again", [content])
            await rig.show("see [shot.png ")
            assert rig.front.editor.text == "see [Image #1: shot.png] again\n\nbeing written"
            await rig.until(lambda: sending._attachments.files(rig.front.editor.text) != [], "a file")
            [(_, kept)] = sending._attachments.files(rig.front.editor.text)
            assert Path(kept).read_bytes() == path.read_bytes()
            await rig.type("!")
            assert rig.front.editor.text.endswith("being written!")

    run(test)


def clipboard_with(folder: Path, data: bytes) -> None:
    (folder / "content").write_bytes(data)
    program = folder / "xclip"
    program.write_text(
        "#!/bin/sh\n"
        f'case "$*" in *TARGETS) printf "image/png\\n";; *image/png) cat "{folder}/content";; esac\n'
    )
    program.chmod(0o755)
    os.environ |= {"PATH": f"{folder}:{os.environ['PATH']}", "DISPLAY": ":0"}
    os.environ.pop("WAYLAND_DISPLAY", None)


def test_ctrl_v_pastes_a_picture_from_the_clipboard(tmp_path: Path) -> None:
    data = BytesIO()
    Image.new("RGB", (8, 8), "blue").save(data, "PNG")
    clipboard_with(tmp_path, data.getvalue())

    async def test() -> None:
        async with rigged(tmp_path, [[Say("Blue.")]]) as rig:
            await rig.press("ctrl+v")
            await rig.show("[clipboard.png ")
            await rig.send("which colour?")
            await rig.show("Blue.")
            text, images = sent(rig)
            assert text == "[Image #1: clipboard.png] which colour?"
            assert len(images) == 1

    run(test)


def test_ctrl_v_without_a_picture_says_so(tmp_path: Path) -> None:
    clipboard_with(tmp_path, b"not a picture, whatever it claims")

    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.press("ctrl+v")
            await rig.show("unsupported format")
            assert rig.front.editor.is_empty

    run(test)


def test_number_of_pasted_pictures_on_disk_is_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pictures_module, "MAX_PASTED_FILES", 3)
    folder = tmp_path / "pasted"
    paths = [pictures_module._save(folder, bytes([number]) * 10, ".png") for number in range(6)]
    for number, path in enumerate(path for path in paths if path is not None and path.exists()):
        os.utime(path, (number, number))
    newest = pictures_module._save(folder, b"newest", ".png")
    assert newest is not None
    assert newest.read_bytes() == b"newest"
    assert len(list(folder.iterdir())) == 3


def test_picture_in_a_draft_is_restored_after_a_crash(tmp_path: Path) -> None:
    path = png(tmp_path)

    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.type("see ")
            rig.terminal.paste(str(path))
            await rig.show("[shot.png ")
            rig.parts.input.detach()
        async with rigged(tmp_path, [[Say("Seen again.")]]) as rig:
            await rig.show("see [shot.png ")
            await asyncio.sleep(0)
            await rig.press("enter")
            await rig.show("Seen again.")
            assert len(sent(rig)[1]) == 1

    run(test)
