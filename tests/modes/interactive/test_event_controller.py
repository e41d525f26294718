"""Session events and what the screen then shows."""

from pathlib import Path

from tau.agent import events as e
from tau.agent.events import Notice
from tau.ai import stream_events as se
from tau.ai.faux import Count, Fail, FauxStep, Say, Stop, Think, Use, Wait
from tau.ai.wire import (
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CustomMessage,
    TextContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from tau.base.errors import ProviderError
from tau.coding.model_resolver import BETTER_MODELS
from tau.modes.interactive.current_session import FIRST, SessionSwitch
from tests.modes.interactive.rig import Rig, rigged, run

Script = list[list[FauxStep]]


def answer(*content: TextContent | ToolCall, stop: str = "stop", error: str = "") -> AssistantMessage:
    message = AssistantMessage(list(content), "faux", "faux", "faux", Usage(output=7), stop, 0)  # type: ignore[arg-type]
    if error:
        return AssistantMessage([], "faux", "faux", "faux", Usage(), "error", 0, error)
    return message


def tell(rig: Rig, *events: e.AgentEvent) -> None:
    for event in events:
        rig.parts.transcript(event)


def update(event: se.AssistantMessageEvent) -> e.MessageUpdate:
    return e.MessageUpdate(event)


def test_answer_is_shown_as_markdown_below_the_message(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Some **bold** words.\n\n- item", pieces=5)]]) as rig:
            await rig.send("hello there")
            shown = await rig.show("Some bold words.")
            await rig.idle()
            shown = rig.screen()
            assert "❯ hello there" in shown
            assert "• item" in shown and "**" not in shown
            assert rig.parts.transcript.last_answer() == "Some **bold** words.\n\n- item"

    run(test)


def test_text_appears_before_the_answer_is_complete(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("The first words"), Wait(None)]]) as rig:
            await rig.send("go")
            shown = await rig.show("The first words")
            assert "Writing" in shown and "Esc stops it" in shown

    run(test)


def test_finished_thinking_is_folded_and_the_pager_expands_it(tmp_path: Path) -> None:
    async def test() -> None:
        script: Script = [[Think("I look at it.\n\nThen I know."), Say("It is so.")]]
        async with rigged(tmp_path, script) as rig:
            await rig.send("go")
            await rig.show("It is so.")
            await rig.idle()
            assert "▸ Thought: I look at it. Then I know." in rig.screen()
            await rig.press("ctrl+o")
            shown = await rig.show("▾ Thought")
            assert "  Then I know." in shown
            await rig.press("q")
            await rig.show("▸ Thought")

    run(test)


def test_hiding_thinking_changes_no_finished_row_and_the_pager_shows_it_all(tmp_path: Path) -> None:
    async def test() -> None:
        script: Script = [[Think(f"Thought {n}."), Say(f"Answer {n}.")] for n in range(12)]
        async with rigged(tmp_path, script, rows=16) as rig:
            for n in range(12):
                if n == 10:
                    before = rig.tape()
                    await rig.press("ctrl+t")
                    await rig.show("Thinking is hidden from now on; Ctrl+O shows all of it.")
                    assert [row for row in before.splitlines() if "Thought" in row] == [
                        f"▸ Thought: Thought {n}." for n in range(10)
                    ]
                await rig.send("go")
                await rig.show(f"Answer {n}.")
                await rig.idle()
            tape = rig.tape().splitlines()
            assert [row for row in tape if "Thought" in row] == [
                f"▸ Thought: Thought {n}." for n in range(10)
            ]
            assert [row for row in tape if row.startswith("Answer")] == [f"Answer {n}." for n in range(12)]
            await rig.press("ctrl+o")
            await rig.show("Thought 11.")
            await rig.press("q", "ctrl+t")
            await rig.show("Thinking is shown from now on")

    run(test)


def test_streaming_thinking_is_hidden_and_shown_at_once(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            tell(rig, e.AgentStart(), e.MessageStart(answer()), update(se.ThinkingStart(0)))
            tell(rig, update(se.ThinkingDelta(0, "I wonder")))
            await rig.show("I wonder")
            rig.parts.transcript.toggle_thinking()
            await rig.gone("I wonder")
            rig.parts.transcript.toggle_thinking()
            await rig.show("I wonder")

    run(test)


def test_thinking_is_shown_while_streaming(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            tell(rig, e.AgentStart(), e.MessageStart(answer()), update(se.ThinkingStart(0)))
            tell(rig, update(se.ThinkingDelta(0, "I wonder")))
            shown = await rig.show("I wonder")
            assert "Thinking" in shown
            tell(rig, update(se.ThinkingEnd(0, "I wonder")))
            await rig.show("▸ Thought: I wonder")

    run(test)


def test_thinking_can_be_hidden_by_a_setting(tmp_path: Path) -> None:
    async def test() -> None:
        script: Script = [[Think("Secret things."), Say("It is so.")]]
        async with rigged(tmp_path, script, settings={"display.hideThinking": True}) as rig:
            await rig.send("go")
            await rig.show("It is so.")
            await rig.idle()
            assert "Thought" not in rig.tape() and "Secret" not in rig.tape()

    run(test)


def test_arguments_of_a_call_appear_while_they_stream(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            tell(rig, e.AgentStart(), e.MessageStart(answer()), update(se.ToolCallStart(0, "c1", "bash")))
            tell(rig, update(se.ToolCallDelta(0, '{"command": "echo on')))
            shown = await rig.show("echo on")
            assert "Preparing bash" in shown
            tell(rig, update(se.ToolCallDelta(0, 'e two"}')))
            await rig.show("echo one two")

    run(test)


def test_running_call_shows_the_end_of_its_output_then_its_result(tmp_path: Path) -> None:
    async def test() -> None:
        call = ToolCall("c1", "bash", {"command": "make"})
        async with rigged(tmp_path) as rig:
            tell(rig, e.AgentStart(), e.MessageStart(answer()), update(se.ToolCallStart(0, "c1", "bash")))
            tell(rig, update(se.ToolCallEnd(0, call)), e.MessageEnd(answer(call, stop="toolUse")))
            tell(rig, e.ToolStart("c1", "bash", call.arguments))
            partial = e.ToolResult([TextContent("compiling a.c\n")])
            tell(rig, e.ToolUpdate("c1", "bash", call.arguments, partial))
            shown = await rig.show("compiling a.c")
            assert "Running bash" in shown
            result = ToolResultMessage("c1", "bash", [TextContent("all built\n")], False, 0)
            tell(rig, e.ToolEnd("c1", "bash", e.ToolResult(result.content), False), e.MessageStart(result))
            shown = await rig.show("all built")
            assert "✓" in shown and "compiling" not in shown

    run(test)


def test_real_command_runs_to_its_result(tmp_path: Path) -> None:
    async def test() -> None:
        script: Script = [[Use("bash", command="echo from the shell")], [Say("It said so.")]]
        async with rigged(tmp_path, script) as rig:
            await rig.send("go")
            await rig.show("It said so.")
            await rig.idle()
            assert "✓" in rig.screen() and "from the shell" in rig.screen()
            assert "Running" not in rig.screen()

    run(test)


def test_consecutive_reads_are_one_block_that_expands(tmp_path: Path) -> None:
    async def test() -> None:
        (tmp_path / "a.txt").write_text("alpha content\n")
        (tmp_path / "b.txt").write_text("beta content\n")
        script: Script = [[Use("read", path="a.txt"), Use("read", path="b.txt")], [Say("Both read.")]]
        async with rigged(tmp_path, script) as rig:
            await rig.send("go")
            await rig.show("Both read.")
            await rig.idle()
            shown = rig.screen()
            assert "Read 2 files" in shown and "a.txt" in shown and "b.txt" in shown
            assert "alpha content" not in shown
            await rig.press("ctrl+o")
            shown = await rig.show("alpha content")
            assert "beta content" in shown
            await rig.press("ctrl+o")
            await rig.gone("alpha content")

    run(test)


def test_text_between_reads_starts_another_group(tmp_path: Path) -> None:
    async def test() -> None:
        (tmp_path / "a.txt").write_text("x\n")
        script: Script = [
            [Use("read", path="a.txt"), Say("And again:"), Use("read", path="a.txt")],
            [Say("Done.")],
        ]
        async with rigged(tmp_path, script) as rig:
            await rig.send("go")
            await rig.show("Done.")
            await rig.idle()
            assert rig.screen().count("Read a.txt") == 2

    run(test)


def test_stopped_answer_stays_and_says_what_to_do(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Half of an ans"), Wait(None)]]) as rig:
            await rig.send("go")
            await rig.show("Half of an ans")
            rig.session.abort()
            shown = await rig.show("Stopped. Type to continue, or /retry.")
            await rig.idle()
            assert "Half of an ans" in shown
            assert "Writing" not in rig.screen()

    run(test)


def test_stopped_command_and_its_run_are_marked(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Use("bash", command="echo began; sleep 600")]]) as rig:
            await rig.send("go")
            await rig.until(lambda: "began" in rig.screen().replace("echo began", ""), "its output")
            rig.session.abort()
            shown = await rig.show("Stopped. Type to continue, or /retry.")
            await rig.idle()
            assert "stopped" in shown
            assert shown.count("Stopped. Type") == 1

    run(test)


def test_calls_of_an_interrupted_answer_never_look_executed(tmp_path: Path) -> None:
    async def test() -> None:
        script: Script = [[Use("bash", command="echo never"), Wait(None)]]
        async with rigged(tmp_path, script) as rig:
            await rig.send("go")
            await rig.show("echo never")
            rig.session.abort()
            shown = await rig.show("Stopped. Type to continue")
            await rig.idle()
            assert "✓" not in shown and "stopped" in shown

    run(test)


def test_failure_is_shown_once_with_what_to_do(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Fail(ProviderError("The key is wrong."))]]) as rig:
            await rig.send("go")
            shown = await rig.show("Type to continue, or /retry.")
            await rig.idle()
            assert shown.count("The key is wrong.") == 1
            assert "✗ Failed: The key is wrong." in rig.screen()

    run(test)


def test_truncated_answer_says_so_once(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Count(10, 8192), Say("cut o"), Stop("length")]]) as rig:
            await rig.send("go")
            await rig.show('Type "continue"')
            await rig.idle()
            assert rig.screen().count("The answer was cut off") == 1

    run(test)


def test_retry_counts_down_and_the_failed_attempt_looks_different(tmp_path: Path) -> None:
    async def test() -> None:
        script: Script = [[Fail(ProviderError("Overloaded.", retryable=True))], [Say("Now it works.")]]
        async with rigged(tmp_path, script, settings={"retry.baseDelayMs": 1200}) as rig:
            await rig.send("go")
            shown = await rig.show("Retry 1 of")
            assert "Esc stops it" in shown
            assert "✗ Failed: Overloaded." in shown and "Type to continue" not in shown
            shown = await rig.show("Now it works.")
            await rig.idle()
            assert "! Overloaded. Retried." in rig.screen()
            assert "Retry 1 of" not in rig.screen()

    run(test)


def test_identical_failed_attempts_share_one_line(tmp_path: Path) -> None:
    async def test() -> None:
        down, busy = ProviderError("Down.", retryable=True), ProviderError("Busy.", retryable=True)
        script: Script = [[Fail(down)], [Fail(down)], [Fail(down)], [Fail(busy)], [Say("Up.")]]
        async with rigged(tmp_path, script, settings={"retry.baseDelayMs": 1}) as rig:
            await rig.send("go")
            await rig.show("Up.")
            await rig.idle()
            screen = rig.screen()
            assert screen.count("Down.") == 1 and "! Down. Retried 3 times." in screen
            assert "! Busy. Retried." in screen

    run(test)


def test_retry_wait_can_be_stopped(tmp_path: Path) -> None:
    async def test() -> None:
        script: Script = [[Fail(ProviderError("Overloaded.", retryable=True))], [Say("never")]]
        async with rigged(tmp_path, script, settings={"retry.baseDelayMs": 60000}) as rig:
            await rig.send("go")
            await rig.show("Retry 1 of")
            rig.session.abort()
            await rig.gone("Retry 1 of")
            await rig.idle()
            assert "Type to continue, or /retry." in rig.screen()
            rig.parts.activity.count_tokens(500)
            rig.parts.activity.begin("Waiting for the model")
            await rig.show("Waiting for the model (Esc")  # a new run: neither time nor tokens continue
            rig.parts.activity.end()

    run(test)


def test_fallback_model_is_announced(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            tell(rig, e.AgentStart(), e.MessageStart(answer()), e.MessageEnd(answer(error="Overloaded.")))
            tell(rig, e.AgentEnd([]), e.RetryEnd(False, 3, "Overloaded."))
            tell(rig, e.FallbackApplied("a/one", "b/two", "default"))
            tell(rig, e.Notice("warning", "Overloaded. Going on with b/two."))
            shown = await rig.show("! Overloaded. Going on with b/two.")
            assert "Switching to b/two (" in shown
            tell(rig, e.AgentStart(), e.MessageStart(answer()), e.FallbackSucceeded("b/two", "default"))
            await rig.show("! Overloaded. Retried.")

    run(test)


def test_compaction_is_shown_as_activity_and_becomes_one_line(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            tell(rig, e.CompactionStart("threshold", "context-full"))
            await rig.show("summarizing it")
            outcome = e.CompactionResult("# What was done\n\nMuch.", "x", 150_000, 20_000)
            tell(rig, e.CompactionEnd("context-full", outcome, False, False))
            tell(rig, e.Compacted(outcome.summary, 150_000, 20_000, True))
            shown = await rig.show("▸ Summarized earlier messages: from 150,000 to 20,000 tokens")
            assert "Much." not in shown and "summarizing it" not in shown
            await rig.press("ctrl+o")
            await rig.show("  Much.")

    run(test)


def test_failed_or_stopped_compaction_says_so(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            tell(rig, e.CompactionEnd("context-full", None, False, False, "No room"))
            await rig.show("! Could not shorten the conversation: No room.")
            tell(rig, e.CompactionEnd("context-full", None, True, False))
            await rig.show("Summary stopped.")
            tell(rig, e.CompactionEnd("shake", None, False, False))
            await rig.show("Shortened the longest parts to make room; the session keeps them in full.")

    run(test)


def test_notices_reminders_and_custom_messages_are_shown(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, rows=40) as rig:
            tell(
                rig,
                e.Notice("warning", "Mind the gap."),
                e.TodoReminder([1, 2], 1, 3),
                e.MessageStart(CustomMessage("job", "Job 1 is done.", True, 0)),
                e.MessageStart(CustomMessage("job", "[Background job 2 failed: make]\nno rule", True, 0)),
                e.MessageStart(CustomMessage("hidden", "nobody sees it", False, 0)),
                e.MessageStart(BranchSummaryMessage("Tried things.", "x", 0)),
            )
            shown = await rig.show("! Mind the gap.")
            assert "2 tasks are still open; reminded the agent (1 of 3)." in shown
            assert "• Background job 2 failed: make\n  no rule" in shown
            assert "Job 1 is done." in shown and "nobody sees it" not in shown
            assert "Summary of the abandoned branch" in shown

    run(test)


def test_shell_command_is_shown_while_running_and_ends_once(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            line = rig.parts.transcript.add_execution("bash", "echo one; exit 3", exclude=False)
            message = await rig.session.bash("echo one; exit 3", show=line.write)
            line.finish(message)
            shown = await rig.show("exit 3")
            await rig.idle()
            assert "! echo one; exit 3" in shown
            assert rig.screen().count("echo one") == 1

    run(test)


def test_command_run_by_someone_else_gets_a_block(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            tell(rig, e.BashEnd(BashExecutionMessage("uname", "Linux\n", 0, False, False, 0)))
            shown = await rig.show("! uname")
            assert "Linux" in shown

    run(test)


def test_token_usage_is_shown_if_enabled(tmp_path: Path) -> None:
    async def test() -> None:
        script: Script = [[Count(1200, 34), Say("Hi.")]]
        async with rigged(tmp_path, script, settings={"display.showTokenUsage": True}) as rig:
            await rig.send("go")
            await rig.show("1,200 tokens in, 34 out")

    run(test)


def test_new_session_starts_below_the_first_which_stays_readable(tmp_path: Path) -> None:
    async def test() -> None:
        script: Script = [[Say("An answer of the first.")], [Say("An answer of the second.")]]
        async with rigged(tmp_path, script, rows=10) as rig:
            await rig.send("go")
            await rig.show("An answer of the first.")
            await rig.idle()
            before = rig.session
            rig.app.leave(SessionSwitch("new"))
            await rig.until(lambda: rig.current.session not in (None, before), "another session")
            await rig.send("once more")
            await rig.show("An answer of the second.")
            answers = [row.strip() for row in rig.tape().splitlines() if "An answer of" in row]
            assert answers == ["An answer of the first.", "An answer of the second."]

    run(test)


def test_quitting_during_a_run_leaves_nothing_open(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Half"), Wait(None)], [Say("More.")]]) as rig:
            await rig.send("go")
            await rig.show("Half")
            before = rig.session
            rig.app.leave(SessionSwitch("new"))
            await rig.until(lambda: rig.current.session not in (None, before), "another session")
            assert not rig.front.layout.activity.children
            await rig.send("again")
            await rig.show("More.")

    run(test)


def test_steering_message_is_shown_in_its_place(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            tell(rig, e.MessageStart(UserMessage("first", 0)), e.MessageEnd(UserMessage("first", 0)))
            tell(rig, e.MessageStart(UserMessage("second", 0)))
            shown = await rig.show("❯ second")
            assert shown.index("❯ first") < shown.index("❯ second")
            assert shown.count("❯ first") == 1

    run(test)


def test_demo_model_notice_names_the_login_command(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            rig.session.notices.append(
                e.Notice("warning", f"It can chat, but it cannot code. {BETTER_MODELS}")
            )
            rig.parts.transcript.attach(rig.session, FIRST)
            shown = await rig.show("Add an API key with /login")
            assert "it cannot code" in shown and "ANTHROPIC_API_KEY" not in shown

    run(test)


def test_note_about_a_small_local_server_comes_once(tmp_path: Path) -> None:
    note = "Ollama serves only 4,096 tokens of context; for coding, set OLLAMA_CONTEXT_LENGTH."

    async def test() -> None:
        async with rigged(tmp_path) as rig:
            session, transcript = rig.session, rig.parts.transcript
            session.notices = [Notice("info", note), Notice("warning", "A setting is wrong.")]
            for _ in range(3):
                transcript.detach()
                transcript.attach(session, SessionSwitch("resume"))
            await rig.drawn()
            assert rig.tape().count("serves only 4,096") == 1
            assert rig.tape().count("A setting is wrong.") == 3

    run(test)
