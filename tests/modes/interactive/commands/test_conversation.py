"""Commands about the conversation, typed into the real screen."""

from pathlib import Path

import pytest

from tau.ai.faux import Count, Fail, Say, Use, Wait
from tau.ai.wire import AssistantMessage, UserMessage
from tau.base.errors import ProviderError
from tests.modes.interactive.commands.command_rig import last_sent, run_command
from tests.modes.interactive.rig import Rig, rigged, run

NO_RETRIES = {"retry.enabled": False}


def messages(rig: Rig) -> list[tuple[str, str]]:
    """Role and text, on all branches."""
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
            await run_command(rig, "/plan tidy up", "I look around.")
            assert last_sent(rig) == "tidy up" and rig.session.plan.on
            await rig.idle()
            await run_command(rig, "/plan", "Plan mode off.")
            assert not rig.session.plan.on
            await run_command(rig, "/plan off", "Plan mode is off.")
            await run_command(rig, "/plan", "the agent explores and writes a plan")
            assert rig.session.plan.on
            await run_command(rig, "/plan review", "There is no plan yet")

    run(test)


def test_retry_sends_a_failed_turn_again_and_adds_only_the_answer(tmp_path: Path) -> None:
    async def test() -> None:
        script = [[Fail(ProviderError("The server is on fire."))], [Say("Better now.")]]
        async with rigged(tmp_path, script, settings=NO_RETRIES) as rig:
            await run_command(rig, "hello", "The server is on fire.")
            await rig.idle()
            await run_command(rig, "/retry", "Better now.")
            await rig.idle()
            assert messages(rig) == [("user", "hello"), ("error", ""), ("stop", "Better now.")]
            assert [message.content for message in rig.faux.requests[1].messages] == ["hello"]

    run(test)


def test_retry_of_a_partial_answer_starts_over(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Half an ans"), Wait()], [Say("A whole answer.")]]) as rig:
            await run_command(rig, "hello", "Half an ans")
            await rig.press("escape")
            await rig.idle()
            await run_command(rig, "/retry", "A whole answer.")
            await rig.idle()
            assert [message.content for message in rig.faux.requests[1].messages] == ["hello"]
            assert messages(rig) == [
                ("user", "hello"),
                ("aborted", "Half an ans"),
                ("stop", "A whole answer."),
            ]
            assert "Half an ans" not in rig.screen()

    run(test)


def test_retry_continues_after_the_tool_results(tmp_path: Path) -> None:
    async def test() -> None:
        (tmp_path / "a.txt").write_text("content of a")
        script = [[Use("read", path="a.txt")], [Fail(ProviderError("It broke."))], [Say("Read it.")]]
        async with rigged(tmp_path, script, settings=NO_RETRIES) as rig:
            await run_command(rig, "read a", "It broke.")
            await rig.idle()
            await run_command(rig, "/retry", "Read it.")
            assert "content of a" in str(rig.faux.requests[2].messages[-1].content)

    run(test)


def test_retry_that_fails_again_says_why(tmp_path: Path) -> None:
    async def test() -> None:
        script = [[Fail(ProviderError("It broke."))], [Fail(ProviderError("It broke twice."))]]
        async with rigged(tmp_path, script, settings=NO_RETRIES) as rig:
            await run_command(rig, "hello", "It broke.")
            await rig.idle()
            await run_command(rig, "/retry", "It broke twice.")
            assert messages(rig).count(("user", "hello")) == 1

    run(test)


def test_only_a_failed_turn_can_be_retried(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Fine.")]]) as rig:
            await run_command(rig, "/retry", "• There is nothing to retry yet.")
            await run_command(rig, "/shake", "• There is no large tool output to drop.")
            assert not rig.front.layout.banner.children
            await run_command(rig, "hello", "Fine.")
            await rig.idle()
            await run_command(rig, "/retry", "The last answer is complete")
            assert len(rig.faux.requests) == 1

    run(test)


def test_queue_is_shown_edited_and_cleared(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Working"), Wait()]], rows=40) as rig:
            await run_command(rig, "/queue", "The queue is empty.")
            await run_command(rig, "go", "Working")
            for text in ("first wish", "second wish", "third wish"):
                await rig.send(text)
            shown = await run_command(rig, "/queue", "Queued messages:")
            assert "1  next  first wish" in shown and "3  next  third wish" in shown
            await run_command(rig, "/queue drop 2", "Message dropped.")
            assert [item.text for item in rig.session.queue.waiting()] == ["first wish", "third wish"]
            await rig.send("/queue edit 1")
            await rig.until(lambda: rig.front.editor.text == "first wish", "the message in the editor")
            rig.front.editor.clear()
            await rig.send("/queue back")
            await rig.until(lambda: rig.front.editor.text == "third wish", "the message in the editor")
            rig.front.editor.clear()
            await rig.send("fourth wish")
            await run_command(rig, "/queue drop 7", "from 1 to 1")
            rig.front.editor.clear()
            await run_command(rig, "/queue clear", "1 message dropped.")
            assert not rig.session.queue.waiting()
            await rig.press("escape")
            await rig.idle()

    run(test)


def test_compact_replaces_the_conversation_with_a_summary(tmp_path: Path) -> None:
    async def test() -> None:
        long = "word " * 3000
        script = [[Say(long)], [Say("A second answer.")], [Say("## Goal\nSUMMARY of it all.")]]
        async with rigged(tmp_path, script) as rig:
            await rig.send("tell me a lot")
            await rig.until(lambda: len(rig.faux.requests) == 1)
            await rig.idle()
            await run_command(rig, "and more", "A second answer.")
            await rig.idle()
            await run_command(rig, "/compact keep the names", "Summarized earlier messages")
            await rig.idle()
            assert "keep the names" in str(rig.faux.requests[2].messages)
            assert any(node.type == "compaction" for node in rig.session.log.nodes())

    run(test)


@pytest.mark.parametrize("command", ["/compact", "/handoff"])
def test_failed_summary_stays_visible_after_the_next_message(command: str, tmp_path: Path) -> None:
    async def test() -> None:
        failing = [Fail(ProviderError("The server is on fire."))]
        script = [[Say("word " * 3000)], [Say("Second.")], failing, [Say("Third.")]]
        async with rigged(tmp_path, script, settings={"retry.enabled": False}) as rig:
            await rig.send("tell me a lot")
            await rig.until(lambda: len(rig.faux.requests) == 1)
            await rig.idle()
            await run_command(rig, "more", "Second.")
            await rig.idle()
            await run_command(rig, command, "The server is on fire.")
            await rig.idle()
            assert not rig.front.layout.banner.children
            await run_command(rig, "go on", "Third.")
            assert rig.tape().count("The server is on fire.") == 1

    run(test)


def test_compact_with_nothing_to_do_says_so_and_can_be_stopped(tmp_path: Path) -> None:
    async def test() -> None:
        long = "word " * 3000
        script = [[Say(long)], [Say("Second.")], [Wait()]]
        async with rigged(tmp_path, script) as rig:
            await run_command(rig, "/compact", "• There is nothing to compact yet.")
            assert not rig.front.layout.banner.children  # nothing is wrong
            await rig.send("tell me a lot")
            await rig.until(lambda: len(rig.faux.requests) == 1)
            await rig.idle()
            await run_command(rig, "more", "Second.")
            await rig.idle()
            await run_command(rig, "/compact", "Summarizing the conversation")
            await rig.press("escape")
            await rig.show("Stopped.")
            assert not any(node.type == "compaction" for node in rig.session.log.nodes())

    run(test)


def test_handoff_continues_in_a_new_session(tmp_path: Path) -> None:
    async def test() -> None:
        script = [[Say("Begun.")], [Say("## Goal\nWhat matters: the parser.")], [Say("I take over.")]]
        async with rigged(tmp_path, script) as rig:
            await run_command(rig, "mend the parser", "Begun.")
            await rig.idle()
            before = rig.session.log.header.id
            await run_command(rig, "/handoff the tests", "I take over.")
            assert rig.session.log.header.id != before
            assert "What matters: the parser." in last_sent(rig)
            assert "Continuing in a new session." in rig.tape()

    run(test)


def test_shake_drops_heavy_output(tmp_path: Path) -> None:
    async def test() -> None:
        (tmp_path / "big.txt").write_text("line of text\n" * 280)
        script = [[Use("read", path="big.txt")], [Say("Read.")], [Say("Second.")]]
        async with rigged(tmp_path, script, columns=160) as rig:
            await run_command(rig, "/shake", "There is no large tool output to drop.")
            await run_command(rig, "read it", "Read.")
            await rig.idle()
            await run_command(rig, "and now", "Second.")
            await rig.idle()
            shown = await run_command(rig, "/shake", "tokens of tool output from context")
            assert "the session keeps them" in shown

    run(test)


def test_init_asks_for_a_description_of_the_project(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Written.")]]) as rig:
            await run_command(rig, "/init mention the deploy script", "Written.")
            assert "AGENTS.md" in last_sent(rig)
            assert last_sent(rig).endswith("\n\nmention the deploy script")

    run(test)


@pytest.mark.parametrize(
    "command", ["/retry", "/compact", "/handoff", "/shake", "/init", "/new", "/fork", "/undo"]
)
def test_some_commands_need_an_idle_agent(tmp_path: Path, command: str) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Working"), Count(10, 10), Wait()]]) as rig:
            await run_command(rig, "go", "Working")
            await run_command(rig, command, "The agent is working; Esc stops it.")
            assert len(rig.faux.requests) == 1
            rig.session.abort()
            await rig.idle()

    run(test)
