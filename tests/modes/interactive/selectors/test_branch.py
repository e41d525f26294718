"""Branching from a message into a new session."""

from pathlib import Path

from tau.ai.faux import Say
from tau.ai.wire import AssistantMessage, ImageContent, TextContent, UserMessage
from tau.modes.interactive.selectors.branch import choose_branch
from tests.modes.interactive.rig import run
from tests.modes.interactive.selectors.selector_rig import open_conversation, opened, settled


def test_new_session_holds_the_earlier_messages_and_the_text_is_in_the_editor(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path, "first question", "second question", "third question") as rig:
            old = rig.session
            async with opened(rig, choose_branch, "── Branch"):
                await rig.press("down", "enter")
            await rig.until(lambda: rig.current.session not in (None, old), "another session")
            await rig.show("the original is unchanged")
            new = rig.session.log
            assert [type(message) for message in new.messages()] == [UserMessage, AssistantMessage]
            assert rig.front.editor.text == "second question"
            assert new.path != old.log.path and new.header.parent_session == str(old.log.path)
            assert old.log.path is not None and "third question" in old.log.path.read_text()

    run(test)


def test_branching_at_the_first_message_gives_an_empty_session(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path, "only question") as rig:
            old = rig.session
            async with opened(rig, choose_branch, "── Branch"):
                await rig.press("enter")
            await rig.until(lambda: rig.current.session not in (None, old), "another session")
            assert not rig.session.log.messages()
            assert rig.front.editor.text == "only question"

    run(test)


def test_pictures_of_the_message_are_carried_over(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(
            tmp_path, "first question", answers=[[Say("One.")], [Say("Two.")]]
        ) as rig:
            picture = ImageContent("QUJD", "image/png")
            rig.app.submit("", [picture])
            await rig.show("Two.")
            await rig.idle()
            old = rig.session
            async with opened(rig, choose_branch, "(an image)"):
                await rig.press("enter")
            await rig.until(lambda: rig.current.session not in (None, old), "another session")
            await rig.show("[picture 3 bytes]")
            await rig.send("what is it?")
            await rig.until(lambda: len(rig.faux.requests) == 3, "a request")
            content = rig.faux.requests[-1].messages[-1].content
            assert content == [TextContent("[Image #1: picture] what is it?"), picture]

    run(test)


def test_messages_of_other_branches_are_marked(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path, "start", "way A") as rig:
            point = rig.session.tree.branch_points()[1]
            await rig.session.goto(point.entry_id)
            await rig.send("way B")
            await rig.show("Answer 3.")
            await rig.idle()
            async with opened(rig, choose_branch, "On other branches"):
                shown = await settled(rig)
                assert shown.index("❯ way B") < shown.index("On other branches") < shown.rindex("way A")
                await rig.press("escape")

    run(test)


def test_unsaved_session_cannot_be_branched(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path, "hello", save=False) as rig:
            rig.parts.tasks.start(choose_branch(rig.context))
            await rig.show("not saved")

    run(test)


def test_empty_session_has_nowhere_to_branch(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path) as rig:
            await choose_branch(rig.context)
            await rig.show("There are no messages to go back to yet")

    run(test)
