"""Other places in a session: /goto, /branch, /fork; out of it: /dump, /copy; into it: /init, skills."""

import base64
import json
import re
from pathlib import Path
from typing import Any

from tests.e2e.interactive.desk import OK, Desk, Seat
from tests.support.fake_answers import Call

SECRET = "sk-secret-0123456789abcdef"


def talked(desk: Desk) -> Seat:
    desk.tau.script("Answer one.", "Answer two.", "Another answer.")
    return desk.start(rows=40).ask("question one", "Answer one.").ask("question two", "Answer two.")


def entry(desk: Desk, text: str) -> str:
    """The id of the entry that says this."""
    found = [one["id"] for one in desk.tau.sessions()[0] if text in json.dumps(one.get("message", ""))]
    return str(found[0])


def test_goto_a_message_of_ones_own_brings_it_back_to_be_changed(desk: Desk) -> None:
    seat = talked(desk)
    seat.send(f"/goto {entry(desk, 'question two')}").see("Edit and resend the message")
    seat.editor_is("question two")
    seat.miss("Answer two.")
    seat.press("ctrl+c")
    seat.editor_is("")
    seat.ask("question three", "Another answer.")
    assert desk.tau.said() == ["question one", "question three"]
    assert "question two" in str(desk.tau.sessions()[0])


def test_goto_an_answer_goes_on_behind_it(desk: Desk) -> None:
    seat = talked(desk)
    seat.send(f"/goto {entry(desk, 'Answer one.')}").see("Your next message continues from here.")
    seat.miss("Answer two.")
    seat.ask("question three", "Another answer.")
    assert desk.tau.said() == ["question one", "question three"]


def test_goto_nowhere_says_so_and_is_typed_again(desk: Desk) -> None:
    seat = talked(desk)
    seat.send("/goto zzz").see('No entry has an id starting with "zzz"')
    seat.editor_is("/goto zzz")
    seat.press("ctrl+c")
    seat.editor_is("")
    seat.send("/goto").see("Usage: /goto ID")


def test_branch_makes_a_new_session_from_a_message_on(desk: Desk) -> None:
    desk.settings(interaction__doubleEscape="branch")
    seat = talked(desk)
    seat.send("/branch").see("Branch: start a new session from one of your messages", "question one")
    seat.press("enter").see("the original is unchanged")
    seat.editor_is("question two")
    answers = [row.strip() for row in seat.see("Answer one.") if row.strip().startswith("Answer ")]
    assert answers == ["Answer one.", "Answer two.", "Answer one."]  # the other session stays above
    seat.press("enter").see("Another answer.")
    assert desk.tau.said() == ["question one", "question two"]
    assert len(desk.tau.sessions()) == 2
    assert sum("Answer two." in str(one) for one in desk.tau.sessions()) == 1


def test_branch_leads_to_the_tree_for_those_who_have_it_behind_escape(desk: Desk) -> None:
    seat = talked(desk)
    seat.send("/branch").see("Session tree", "user: question two")
    seat.press("escape").miss("Session tree")


def test_branch_without_a_message_says_so(desk: Desk) -> None:
    desk.settings(interaction__doubleEscape="branch")
    desk.start().send("/branch").see("There are no messages to go back to yet.")


def test_fork_without_a_message_says_so(desk: Desk) -> None:
    desk.start().send("/fork").see("There is nothing to copy yet.")


def test_dump_copies_the_talk_without_secrets(desk: Desk) -> None:
    desk.tau.write("auth.json", {"openai": {"type": "api_key", "key": SECRET}})
    (desk.tau.home / "auth.json").chmod(0o600)
    desk.tau.script(Call("bash", {"command": f"echo the key is {SECRET}"}), "Done with it.")
    seat = desk.start().ask("show the key", "Done with it.")
    seat.send("/dump").see("Copied")
    (text,) = seat.term.terminal.clipboard
    assert "show the key" in text and "echo the key is" in text and "Done with it." in text
    assert SECRET not in text
    assert text.index("show the key") < text.index("Done with it.")


def test_what_is_copied_goes_to_the_terminal_in_one_sequence(desk: Desk) -> None:
    desk.tau.script("Take **this** away, ünd thät.")
    seat = desk.start().ask("hello", "away")
    seat.send("/copy last").see("Copied")
    found = re.findall(rb"\x1b\]52;c;([A-Za-z0-9+/=]*)(?:\x07|\x1b\\)", bytes(seat.term.output))
    assert [base64.b64decode(one).decode() for one in found] == ["Take **this** away, ünd thät."]


def test_a_block_of_code_is_copied_alone(desk: Desk) -> None:
    desk.tau.script("Do this:\n\n```sh\nmake all\nmake test\n```\n\nThat is it.")
    seat = desk.start().ask("how?", "That is it.")
    seat.send("/copy").see("Code: sh")
    seat.press("down", "enter").see("Copied")
    seat.until(lambda _: seat.term.terminal.clipboard == ["make all\nmake test"], "the code alone")


def test_copy_without_an_answer_says_so(desk: Desk) -> None:
    desk.start().send("/copy").see("There is nothing to copy yet.")


def test_init_asks_for_the_file_with_the_wishes_of_the_person(desk: Desk) -> None:
    desk.tau.script(Call("write", {"path": "AGENTS.md", "content": "# A project\n"}), "It is written.")
    seat = desk.start().ask("/init Mention the harbour.", "It is written.")
    said = desk.tau.said()
    assert len(said) == 1
    assert said[0].startswith("Write the file AGENTS.md") and said[0].endswith("Mention the harbour.")
    assert (desk.tau.project / "AGENTS.md").read_text() == "# A project\n"
    seat.see("AGENTS.md")


def skill(folder: Path, name: str) -> None:
    (folder / "skills" / name).mkdir(parents=True)
    text = f"---\nname: {name}\ndescription: How to sail\n---\nHoist the sails, then steer.\n"
    (folder / "skills" / name / "SKILL.md").write_text(text)


def test_a_skill_is_offered_and_sent_with_what_is_wanted(desk: Desk) -> None:
    skill(desk.tau.home, "sailing")
    seat = desk.start().write("/skill:sai")
    seat.see("How to sail")
    seat.press("ctrl+c")
    seat.editor_is("")
    seat.ask("/skill:sailing Go to the island.", OK)
    (said,) = desk.tau.said()
    assert 'Use the skill "sailing".' in said and "Hoist the sails, then steer." in said
    assert said.endswith("Go to the island.") and str(desk.tau.home / "skills" / "sailing") in said
    assert "description:" not in said


def test_a_skill_that_is_not_there_suggests_the_nearest(desk: Desk) -> None:
    skill(desk.tau.home, "sailing")
    seat = desk.start().send("/skill:saling")
    seat.see("Unknown command /skill:saling. Did you mean /skill:sailing?")
    seat.editor_is("/skill:saling")
    assert not desk.tau.server.requests


def long_outputs(desk: Desk) -> Seat:
    calls: list[Any] = [Call("bash", {"command": f"seq -f {name}-%g 60"}) for name in ("first", "second")]
    desk.tau.script(*calls, "Counted.")
    return desk.start(rows=160).ask("count", "Counted.")


def shown(rows: list[str]) -> list[str]:
    """Which outputs are to be seen as a whole."""
    return [name for name in ("first-5", "second-5") if name in map(str.strip, rows)]


def test_one_block_is_expanded_alone_then_the_one_before(desk: Desk) -> None:
    seat = long_outputs(desk)
    seat.until(lambda rows: shown(rows) == [], "both folded")
    seat.press("alt+o")
    seat.until(lambda rows: shown(rows) == ["second-5"], "the last one")
    seat.press("alt+o")
    seat.until(lambda rows: shown(rows) == ["first-5"], "the one before")
    seat.press("alt+o")
    seat.until(lambda rows: shown(rows) == [], "none")
    seat.send("/expand")
    seat.until(lambda rows: shown(rows) == ["first-5", "second-5"], "all")
    seat.send("/expand")
    seat.until(lambda rows: shown(rows) == [], "none again")
    assert seat.told.count("Counted.") == 1
