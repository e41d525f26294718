"""Commands about the conversation, typed into the real screen."""

from pathlib import Path

import pytest

from tau.ai.faux import Count, Fail, Say, Use, Wait
from tau.ai.wire import AssistantMessage, UserMessage
from tau.base.errors import ProviderError
from tests.modes.interactive.commands.asking import last_sent, said
from tests.modes.interactive.rig import Rig, rigged, run

NO_RETRIES = {"retry.enabled": False}


def messages(rig: Rig) -> list[tuple[str, str]]:
    """Who said what, on all branches."""
    found = []
    for _, entry in rig.session.log.entries():
        message = getattr(entry, "message", None)
        if isinstance(message, UserMessage):
            found.append(("user", str(message.content)))
        elif isinstance(message, AssistantMessage):
            found.append((message.stop_reason, message.text))
    return found


def test_plan_is_switched_on_with_a_prompt_and_off_again(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("I look around.")]]) as rig:
            await said(rig, "/plan tidy up", "I look around.")
            assert last_sent(rig) == "tidy up" and rig.session.plan.on
            await rig.idle()
            await said(rig, "/plan", "Plan mode off.")
            assert not rig.session.plan.on
            await said(rig, "/plan off", "Plan mode is off.")
            await said(rig, "/plan", "the agent explores and writes a plan")
            assert rig.session.plan.on
            await said(rig, "/plan review", "There is no plan yet")

    run(test)


def test_retry_sends_a_failed_turn_again_and_adds_only_the_answer(tmp_path: Path) -> None:
    async def test() -> None:
        script = [[Fail(ProviderError("The server is on fire."))], [Say("Better now.")]]
        async with rigged(tmp_path, script, settings=NO_RETRIES) as rig:
            await said(rig, "hello", "The server is on fire.")
            await rig.idle()
            await said(rig, "/retry", "Better now.")
            await rig.idle()
            assert messages(rig) == [("user", "hello"), ("error", ""), ("stop", "Better now.")]
            assert [message.content for message in rig.faux.requests[1].messages] == ["hello"]

    run(test)


def test_retry_of_half_an_answer_begins_anew(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Half an ans"), Wait()], [Say("A whole answer.")]]) as rig:
            await said(rig, "hello", "Half an ans")
            await rig.press("escape")
            await rig.idle()
            await said(rig, "/retry", "A whole answer.")
            await rig.idle()
            assert [message.content for message in rig.faux.requests[1].messages] == ["hello"]
            assert messages(rig) == [
                ("user", "hello"),
                ("aborted", "Half an ans"),
                ("stop", "A whole answer."),
            ]
            assert "Half an ans" not in rig.screen()

    run(test)


def test_retry_goes_on_behind_the_results_of_tools(tmp_path: Path) -> None:
    async def test() -> None:
        (tmp_path / "a.txt").write_text("content of a")
        script = [[Use("read", path="a.txt")], [Fail(ProviderError("It broke."))], [Say("Read it.")]]
        async with rigged(tmp_path, script, settings=NO_RETRIES) as rig:
            await said(rig, "read a", "It broke.")
            await rig.idle()
            await said(rig, "/retry", "Read it.")
            assert "content of a" in str(rig.faux.requests[2].messages[-1].content)

    run(test)


def test_retry_that_fails_again_says_why(tmp_path: Path) -> None:
    async def test() -> None:
        script = [[Fail(ProviderError("It broke."))], [Fail(ProviderError("It broke twice."))]]
        async with rigged(tmp_path, script, settings=NO_RETRIES) as rig:
            await said(rig, "hello", "It broke.")
            await rig.idle()
            await said(rig, "/retry", "It broke twice.")
            assert messages(rig).count(("user", "hello")) == 1

    run(test)


def test_nothing_is_retried_that_has_not_failed(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Fine.")]]) as rig:
            await said(rig, "/retry", "• There is nothing to retry yet.")
            await said(rig, "/shake", "• There is no large tool output to drop.")
            assert not rig.front.layout.banner.children
            await said(rig, "hello", "Fine.")
            await rig.idle()
            await said(rig, "/retry", "The last answer is complete")
            assert len(rig.faux.requests) == 1

    run(test)


def test_the_queue_is_shown_edited_and_cleared(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Working"), Wait()]], rows=40) as rig:
            await said(rig, "/queue", "The queue is empty.")
            await said(rig, "go", "Working")
            for text in ("first wish", "second wish", "third wish"):
                await rig.send(text)
            shown = await said(rig, "/queue", "Queued messages:")
            assert "1  next  first wish" in shown and "3  next  third wish" in shown
            await said(rig, "/queue drop 2", "Message dropped.")
            assert [item.text for item in rig.session.queue.waiting()] == ["first wish", "third wish"]
            await rig.send("/queue edit 1")
            await rig.until(lambda: rig.front.editor.text == "first wish", "the message in the editor")
            rig.front.editor.clear()
            await rig.send("/queue back")
            await rig.until(lambda: rig.front.editor.text == "third wish", "the message in the editor")
            rig.front.editor.clear()
            await rig.send("fourth wish")
            await said(rig, "/queue drop 7", "from 1 to 1")
            rig.front.editor.clear()
            await said(rig, "/queue clear", "1 message dropped.")
            assert not rig.session.queue.waiting()
            await rig.press("escape")
            await rig.idle()

    run(test)


def test_compact_puts_a_summary_in_the_place_of_what_was_said(tmp_path: Path) -> None:
    async def test() -> None:
        long = "word " * 3000
        script = [[Say(long)], [Say("A second answer.")], [Say("## Goal\nSUMMARY of it all.")]]
        async with rigged(tmp_path, script) as rig:
            await rig.send("tell me a lot")
            await rig.until(lambda: len(rig.faux.requests) == 1)
            await rig.idle()
            await said(rig, "and more", "A second answer.")
            await rig.idle()
            await said(rig, "/compact keep the names", "Summarized earlier messages")
            await rig.idle()
            assert "keep the names" in str(rig.faux.requests[2].messages)
            assert any(node.type == "compaction" for node in rig.session.log.nodes())

    run(test)


def test_compact_says_when_there_is_nothing_and_can_be_stopped(tmp_path: Path) -> None:
    async def test() -> None:
        long = "word " * 3000
        script = [[Say(long)], [Say("Second.")], [Wait()]]
        async with rigged(tmp_path, script) as rig:
            await said(rig, "/compact", "• There is nothing to compact yet.")
            assert not rig.front.layout.banner.children  # nothing is wrong
            await rig.send("tell me a lot")
            await rig.until(lambda: len(rig.faux.requests) == 1)
            await rig.idle()
            await said(rig, "more", "Second.")
            await rig.idle()
            await said(rig, "/compact", "Summarizing the conversation")
            await rig.press("escape")
            await rig.show("Stopped.")
            assert not any(node.type == "compaction" for node in rig.session.log.nodes())

    run(test)


def test_handoff_goes_on_in_a_new_session(tmp_path: Path) -> None:
    async def test() -> None:
        script = [[Say("Begun.")], [Say("## Goal\nWhat matters: the parser.")], [Say("I take over.")]]
        async with rigged(tmp_path, script) as rig:
            await said(rig, "mend the parser", "Begun.")
            await rig.idle()
            before = rig.session.log.header.id
            await said(rig, "/handoff the tests", "I take over.")
            assert rig.session.log.header.id != before
            assert "What matters: the parser." in last_sent(rig)
            assert "Continuing in a new session." in rig.tape()

    run(test)


def test_shake_drops_heavy_output(tmp_path: Path) -> None:
    async def test() -> None:
        (tmp_path / "big.txt").write_text("line of text\n" * 280)
        script = [[Use("read", path="big.txt")], [Say("Read.")], [Say("Second.")]]
        async with rigged(tmp_path, script, columns=160) as rig:
            await said(rig, "/shake", "There is no large tool output to drop.")
            await said(rig, "read it", "Read.")
            await rig.idle()
            await said(rig, "and now", "Second.")
            await rig.idle()
            shown = await said(rig, "/shake", "tokens of tool output from context")
            assert "the session keeps them" in shown

    run(test)


def test_init_asks_for_a_description_of_the_project(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Written.")]]) as rig:
            await said(rig, "/init mention the deploy script", "Written.")
            assert "AGENTS.md" in last_sent(rig)
            assert last_sent(rig).endswith("\n\nmention the deploy script")

    run(test)


@pytest.mark.parametrize(
    "command", ["/retry", "/compact", "/handoff", "/shake", "/init", "/new", "/fork", "/undo"]
)
def test_what_needs_rest_waits_for_the_agent(tmp_path: Path, command: str) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Working"), Count(10, 10), Wait()]]) as rig:
            await said(rig, "go", "Working")
            await said(rig, command, "The agent is working; Esc stops it.")
            assert len(rig.faux.requests) == 1
            rig.session.abort()
            await rig.idle()

    run(test)
