"""What fills the window, what it costs, what is to be done: /context to /stats, /todo, /jobs, /queue."""

import re
from typing import Any

from tests.e2e.interactive.desk import OK, Desk, Seat
from tests.e2e.program import wait_for
from tests.support.fake_answers import Call, Silence


def row(seat: Seat, text: str) -> str:
    """The words of the row that has this, with single blanks."""
    rows = seat.see(text)
    return " ".join(next(one for one in reversed(rows) if text in one).split())


def test_usage_counts_the_requests_and_tokens_of_the_session(desk: Desk) -> None:
    seat = desk.start(rows=40)
    seat.send("/usage").see("No usage yet.")
    seat.ask("one", OK).ask("two", OK)
    seat.send("/usage").see("requests", "came from the cache")
    assert re.search(r"\b2 10k 0 20 .*fake/fake-model", row(seat, "fake/fake-model"))
    seat.send("/model second-model").see("is used from the next request on")
    seat.ask("three", OK)
    seat.send("/usage").see("fake/second-model")
    assert re.search(r"\b3 15k 0 30 \$0 all", row(seat, "  all"))


def test_stats_counts_all_sessions_by_day_model_and_folder(desk: Desk) -> None:
    first = desk.start().ask("one", OK)
    assert first.leave() == 0
    seat = desk.start(rows=40, columns=240).ask("two", OK)
    seat.send("/stats").see("2 sessions, 2 requests, 10k tokens")
    seat.see("day", "model", "folder", "fake/fake-model", str(desk.tau.project)[-20:])
    seat.send("/stats 0").see("Usage: /stats, /stats DAYS")
    seat.editor_is("/stats 0")


def test_stats_before_anything_was_said(desk: Desk) -> None:
    desk.start().send("/stats 7").see("No usage from")


def test_context_says_what_fills_the_window(desk: Desk) -> None:
    (desk.tau.project / "AGENTS.md").write_text("Speak of elephants.\n" * 200)
    desk.tau.script(Call("bash", {"command": "seq 1 2000"}), "Counted.")
    seat = desk.start(rows=50).ask("count to two thousand", "Counted.")
    seat.send("/context").see("of 128,000 tokens used", "system prompt", "AGENTS.md (1 file)", "free")
    seat.see("tool results", "your messages", "answers", "Compacts automatically")
    shares = [found for one in seat.term.screen() if (found := re.search(r"(\d+) %", one))]
    assert len(shares) >= 2


def test_shake_leaves_heavy_output_out_of_the_next_request(desk: Desk) -> None:
    desk.tau.script(
        Call("bash", {"command": "seq -f heavy-%g 4000"}), *answers("Counted.", "A.", "B.", "Lighter.")
    )
    seat = desk.start(rows=40).ask("count", "Counted.").ask("more", "A.").ask("even more", "B.")
    assert "heavy-3999" in str(desk.tau.server.requests[-1].body)
    seat.send("/shake").see("tokens of tool output from context; the session keeps")
    assert "about 0 tokens" not in seat.told
    seat.ask("and now?", "Lighter.")
    assert "heavy-3999" not in str(desk.tau.server.requests[-1].body)
    assert "heavy-3999" in str(desk.tau.sessions()[0])


def answers(*texts: str) -> tuple[Any, ...]:
    return texts


def test_handoff_goes_on_in_a_new_session_with_what_matters(desk: Desk) -> None:
    desk.tau.script("Elephants are grey.", "## Goal\nPaint the elephants blue.", "I take over.")
    seat = desk.start(rows=40).ask("about elephants", "Elephants are grey.")
    seat.send("/handoff the colour").see("Continuing in a new session.", "I take over.")
    assert "the colour" in str(desk.tau.server.requests[1].body)
    said = desk.tau.said()
    assert len(said) == 1 and "Paint the elephants blue." in said[0]
    seat.rests()
    assert len(desk.tau.sessions()) == 2


def test_handoff_with_nothing_to_hand_over_says_so(desk: Desk) -> None:
    desk.start().send("/handoff").see("There is nothing to hand off yet.")


def test_a_message_that_waits_for_a_compaction_comes_back_when_that_is_stopped(desk: Desk) -> None:
    desk.settings(compaction__keepRecentTokens=1000)
    long = ["An answer. " * 500, "A second one. " * 500]
    desk.tau.script(*long, Silence(after_events=3), "Late answer.")
    seat = desk.start().ask("tell me", "An answer.").ask("tell more", "A second one.")
    seat.send("/compact").see("Summarizing the conversation")
    seat.send("my next question").see("Next: my next question")
    seat.press("escape")
    seat.editor_is("my next question")
    seat.rests().press("enter").see("Late answer.")
    assert desk.tau.said()[-1] == "my next question"


def test_a_message_that_waits_for_a_compaction_is_sent_by_itself(desk: Desk) -> None:
    desk.settings(compaction__keepRecentTokens=1000)
    long = ["An answer. " * 500, "A second one. " * 500]
    summary = "## Goal\nAbout elephants."
    desk.tau.script(*long, summary, summary, "Late answer.")
    seat = desk.start().ask("tell me", "An answer.").ask("tell more", "A second one.")
    seat.term.type("/compact\rmy next question\r")
    seat.see("Late answer.")
    seat.rests().miss("Next: my next question")
    assert desk.tau.said()[-1] == "my next question"


def test_the_list_of_tasks_is_made_changed_and_kept(desk: Desk) -> None:
    seat = desk.start(rows=40).send("/todo")
    seat.see("No tasks; add one with /todo append TEXT.")
    seat.send("/todo append find the fault").see("Added: find the fault", "1 task left.")
    seat.send("/todo append mend it").see("2 tasks left.")
    seat.send("/todo start 1").see("In progress: find the fault")
    seat.send("/todo").see("  1 [/] find the fault", "  2 [ ] mend it")
    seat.send("/todo done 1").see("Done: find the fault", "1 task left.")
    seat.send("/todo done nothing").see('No task has "nothing" in its text')
    seat.press("ctrl+c")
    seat.editor_is("")
    seat.send("/todo export").see("Exported the tasks to")
    text = (desk.tau.project / "TODO.md").read_text()
    assert "- [x] find the fault" in text and "mend it" in text
    seat.ask("what is left?", OK)
    assert seat.leave() == 0
    back = desk.start("-c", rows=40)
    back.see("what is left?")
    back.send("/todo").see("  1 [x] find the fault", "mend it")
    back.send("/todo clear").see("Todo list cleared.")
    back.send("/todo import").see("The list now has 2 tasks.")


def test_the_tasks_of_the_agent_are_shown_above_the_editor_until_alt_t(desk: Desk) -> None:
    op = {"op": "init", "list": [{"phase": "Work", "items": ["find the fault", "mend it"]}]}
    desk.tau.script(Call("todo", {"ops": [op]}), OK)
    seat = desk.start(rows=40).ask("begin", OK)
    seat.until(lambda rows: below(rows, OK).count("mend it") == 1, "the list above the editor")
    seat.press("alt+t")
    seat.until(lambda rows: below(rows, OK).count("mend it") == 0, "the list gone")
    seat.press("alt+t")
    seat.until(lambda rows: below(rows, OK).count("mend it") == 1, "the list again")


def below(rows: list[str], text: str) -> str:
    return "\n".join(rows).rpartition(text)[2]


def test_a_job_is_listed_read_and_stopped(desk: Desk) -> None:
    command = "echo begun-$((40 + 2)); echo $$ > pid; exec sleep 1000"
    desk.tau.script(Call("bash", {"command": command, "async": True}), "It runs.")
    seat = desk.start(rows=40).ask("start it", "It runs.")
    wait_for(desk.tau.project / "pid")
    seat.send("/jobs").see("running", "/jobs ID shows a job's output")
    job = next(one for one in seat.term.screen() if "  running  " in one).strip().partition(" ")[0]
    while "begun-42" not in "\n".join(seat.term.screen()):  # it is told now and then
        seat.send(f"/jobs {job}").see(f"{job} running,")
    seat.send(f"/jobs cancel {job}").see("1 job stopped.")
    seat.send("/jobs").see("cancelled")
    seat.send("/jobs cancel nobody").see('No job "nobody"; /jobs lists them.')


def test_what_waits_is_listed_changed_and_dropped_by_its_number(desk: Desk) -> None:
    desk.tau.script(Silence(after_events=3))
    seat = desk.start(rows=40).send("work")
    seat.see("These words")
    seat.send("first one").see("Next: first one")
    seat.send("second one").see("Next: second one")
    seat.write("third one").press("alt+enter").see("Afterwards: third one")
    seat.send("/queue").see("1  next        first one", "3  afterwards  third one")
    seat.send("/queue drop 2").see("Message dropped.")
    seat.miss("Next: second one")
    seat.send("/queue edit 1").miss("Next: first one")
    seat.editor_is("first one")
    seat.press("ctrl+c")
    seat.editor_is("")
    seat.send("/queue drop 7").see("Give a number from 1 to 1")
    seat.see("Afterwards: third one")
