"""What fills the window, what it costs, what is to be done: /context to /stats, /todo, /jobs, /queue."""

import re
from typing import Any

from tests.e2e.interactive.launcher import OK, Launcher, User
from tests.e2e.program import wait_for
from tests.support.fake_answers import Call, Silence


def row(user: User, text: str) -> str:
    """The row containing this, with single blanks."""
    rows = user.see(text)
    return " ".join(next(one for one in reversed(rows) if text in one).split())


def test_usage_counts_the_requests_and_tokens_of_the_session(launcher: Launcher) -> None:
    user = launcher.start(rows=40)
    user.send("/usage").see("No usage yet.")
    user.ask("one", OK).ask("two", OK)
    user.send("/usage").see("requests", "came from the cache")
    assert re.search(r"\b2 10k 0 20 .*fake/fake-model", row(user, "fake/fake-model"))
    user.send("/model second-model").see("starting with the next request")
    user.ask("three", OK)
    user.send("/usage").see("fake/second-model")
    assert re.search(r"\b3 15k 0 30 \$0 all", row(user, "  all"))


def test_stats_counts_all_sessions_by_day_model_and_folder(launcher: Launcher) -> None:
    first = launcher.start().ask("one", OK)
    assert first.leave() == 0
    user = launcher.start(rows=40, columns=240).ask("two", OK)
    user.send("/stats").see("2 sessions, 2 requests, 10k tokens")
    user.see("day", "model", "folder", "fake/fake-model", str(launcher.tau.project)[-20:])
    user.send("/stats 0").see("Usage: /stats, /stats DAYS")
    user.editor_is("/stats 0")


def test_stats_before_the_first_message(launcher: Launcher) -> None:
    launcher.start().send("/stats 7").see("No usage from")


def test_context_says_what_fills_the_window(launcher: Launcher) -> None:
    (launcher.tau.project / "AGENTS.md").write_text("Speak of elephants.\n" * 200)
    launcher.tau.script(Call("bash", {"command": "seq 1 2000"}), "Counted.")
    user = launcher.start(rows=50).ask("count to two thousand", "Counted.")
    user.send("/context").see("of 128,000 tokens used", "system prompt", "AGENTS.md (1 file)", "free")
    user.see("tool results", "your messages", "answers", "Compacts automatically")
    shares = [found for one in user.term.screen() if (found := re.search(r" (\d+)%$", one.rstrip()))]
    assert len(shares) >= 2


def test_shake_leaves_heavy_output_out_of_the_next_request(launcher: Launcher) -> None:
    launcher.tau.script(
        Call("bash", {"command": "seq -f heavy-%g 4000"}), *answers("Counted.", "A.", "B.", "Lighter.")
    )
    user = launcher.start(rows=40).ask("count", "Counted.").ask("and then", "A.").ask("what else", "B.")
    assert "heavy-3999" in str(launcher.tau.server.requests[-1].body)
    user.send("/shake").see("tokens of tool output from context; the session keeps")
    assert "about 0 tokens" not in user.output
    user.ask("and now?", "Lighter.")
    assert "heavy-3999" not in str(launcher.tau.server.requests[-1].body)
    assert "heavy-3999" in str(launcher.tau.sessions()[0])


def answers(*texts: str) -> tuple[Any, ...]:
    return texts


def test_handoff_continues_in_a_new_session_with_a_summary(launcher: Launcher) -> None:
    launcher.tau.script("Elephants are grey.", "## Goal\nPaint the elephants blue.", "I take over.")
    user = launcher.start(rows=40).ask("about elephants", "Elephants are grey.")
    user.send("/handoff the colour").see("Continuing in a new session.", "I take over.")
    assert "the colour" in str(launcher.tau.server.requests[1].body)
    message = launcher.tau.user_messages()
    assert len(message) == 1 and "Paint the elephants blue." in message[0]
    user.rests()
    assert len(launcher.tau.sessions()) == 2


def test_handoff_with_nothing_to_hand_over_says_so(launcher: Launcher) -> None:
    launcher.start().send("/handoff").see("There is nothing to hand off yet.")


def test_message_queued_during_a_compaction_returns_when_it_is_stopped(launcher: Launcher) -> None:
    launcher.settings(compaction__keepRecentTokens=1000)
    long = ["An answer. " * 500, "A second one. " * 500]
    launcher.tau.script(*long, Silence(after_events=3), "Late answer.")
    user = launcher.start().ask("tell me", "An answer.").ask("tell more", "A second one.")
    user.send("/compact").see("Summarizing the conversation")
    user.send("my next question").see("Next: my next question")
    user.press("escape")
    user.editor_is("my next question")
    user.rests().press("enter").see("Late answer.")
    assert launcher.tau.user_messages()[-1] == "my next question"


def test_message_queued_during_a_compaction_is_sent_automatically(launcher: Launcher) -> None:
    launcher.settings(compaction__keepRecentTokens=1000)
    long = ["An answer. " * 500, "A second one. " * 500]
    summary = "## Goal\nAbout elephants."
    launcher.tau.script(*long, summary, summary, "Late answer.")
    user = launcher.start().ask("tell me", "An answer.").ask("tell more", "A second one.")
    user.send("/compact").editor_is("")
    user.send("my next question")
    user.see("Late answer.")
    user.rests().miss("Next: my next question")
    assert launcher.tau.user_messages()[-1] == "my next question"


def test_task_list_is_made_changed_and_saved(launcher: Launcher) -> None:
    user = launcher.start(rows=40).send("/todo")
    user.see("No tasks; add one with /todo append TEXT.")
    user.send("/todo append find the fault").see("Added: find the fault", "1 task left.")
    user.send("/todo append mend it").see("2 tasks left.")
    user.send("/todo start 1").see("In progress: find the fault")
    user.send("/todo").see("  1 [/] find the fault", "  2 [ ] mend it")
    user.send("/todo done 1").see("Done: find the fault", "1 task left.")
    user.send("/todo done nothing").see('No task has "nothing" in its text')
    user.press("ctrl+c")
    user.editor_is("")
    user.send("/todo export").see("Exported the tasks to")
    text = (launcher.tau.project / "TODO.md").read_text()
    assert "- [x] find the fault" in text and "mend it" in text
    user.ask("what is left?", OK)
    assert user.leave() == 0
    back = launcher.start("-c", rows=40)
    back.see("what is left?")
    back.send("/todo").see("  1 [x] find the fault", "mend it")
    back.send("/todo clear").see("Todo list cleared.")
    back.send("/todo import").see("The list now has 2 tasks.")


def test_agent_tasks_are_shown_above_the_editor_until_alt_t(launcher: Launcher) -> None:
    op = {"op": "init", "list": [{"phase": "Work", "items": ["find the fault", "mend it"]}]}
    launcher.tau.script(Call("todo", {"ops": [op]}), OK)
    user = launcher.start(rows=40).ask("begin", OK)
    user.until(lambda rows: below(rows, OK).count("mend it") == 1, "the list above the editor")
    user.press("alt+t")
    user.until(lambda rows: below(rows, OK).count("mend it") == 0, "the list gone")
    user.press("alt+t")
    user.until(lambda rows: below(rows, OK).count("mend it") == 1, "the list again")


def below(rows: list[str], text: str) -> str:
    return "\n".join(rows).rpartition(text)[2]


def test_job_is_listed_read_and_stopped(launcher: Launcher) -> None:
    command = "echo begun-$((40 + 2)); echo $$ > pid; exec sleep 1000"
    launcher.tau.script(Call("bash", {"command": command, "async": True}), "It runs.")
    user = launcher.start(rows=40).ask("start it", "It runs.")
    wait_for(launcher.tau.project / "pid")
    user.send("/jobs").see("bash-1 running", "Enter show its output")
    user.press("enter").see("bash-1 running,", "begun-42")
    user.press("s").see("bash-1 stopped,", "Stopped.")
    user.press("q").miss("Q close")
    user.send("/jobs").see("Enter show its output", "bash-1 stopped")
    user.press("escape").miss("Background jobs")
    user.send("/jobs cancel bash-1").see("1 job stopped.")
    user.send("/jobs cancel nobody").see('No job "nobody"; /jobs lists them.')


def test_queued_messages_are_listed_edited_and_dropped_by_number(launcher: Launcher) -> None:
    launcher.tau.script(Silence(after_events=3))
    user = launcher.start(rows=40).send("work")
    user.see("These words")
    user.send("first one").see("Next: first one")
    user.send("second one").see("Next: second one")
    user.write("third one").press("alt+enter").see("Later: third one")
    user.send("/queue").see("1  next        first one", "3  afterwards  third one")
    user.send("/queue drop 2").see("Message dropped.")
    user.miss("Next: second one")
    user.send("/queue edit 1").miss("Next: first one")
    user.editor_is("first one")
    user.press("ctrl+c")
    user.editor_is("")
    user.send("/queue drop 7").see("Give a number from 1 to 1")
    user.see("Later: third one")
