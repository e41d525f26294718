"""Moving in a session: /goto, /branch, /fork; out of it: /dump, /copy; into it: /init, skills."""

import base64
import json
import re
from pathlib import Path
from typing import Any

from tests.e2e.interactive.launcher import OK, Launcher, User
from tests.support.fake_answers import Call

SECRET = "sk-secret-0123456789abcdef"


def talked(launcher: Launcher) -> User:
    launcher.tau.script("Answer one.", "Answer two.", "Another answer.")
    return launcher.start(rows=40).ask("question one", "Answer one.").ask("question two", "Answer two.")


def entry(launcher: Launcher, text: str) -> str:
    """The id of the entry with this text."""
    found = [one["id"] for one in launcher.tau.sessions()[0] if text in json.dumps(one.get("message", ""))]
    return str(found[0])


def test_goto_a_user_message_puts_it_into_the_editor(launcher: Launcher) -> None:
    user = talked(launcher)
    user.send(f"/goto {entry(launcher, 'question two')}").see("Edit and resend the message")
    user.editor_is("question two")
    user.miss("Answer two.")
    user.press("ctrl+c")
    user.editor_is("")
    user.ask("question three", "Another answer.")
    assert launcher.tau.user_messages() == ["question one", "question three"]
    assert "question two" in str(launcher.tau.sessions()[0])


def test_goto_an_answer_continues_after_it(launcher: Launcher) -> None:
    user = talked(launcher)
    user.send(f"/goto {entry(launcher, 'Answer one.')}").see("Your next message continues from here.")
    user.miss("Answer two.")
    user.ask("question three", "Another answer.")
    assert launcher.tau.user_messages() == ["question one", "question three"]


def test_goto_nowhere_says_so_and_stays_typed(launcher: Launcher) -> None:
    user = talked(launcher)
    user.send("/goto zzz").see('No entry has an id starting with "zzz"')
    user.editor_is("/goto zzz")
    user.press("ctrl+c")
    user.editor_is("")
    user.send("/goto").see("Usage: /goto ID")


def test_branch_starts_a_new_session_at_a_message(launcher: Launcher) -> None:
    launcher.settings(interaction__doubleEscape="branch")
    user = talked(launcher)
    user.send("/branch").see("Branch: start a new session from one of your messages", "question one")
    user.press("enter").see("the original is unchanged")
    user.editor_is("question two")
    answers = [row.strip() for row in user.see("Answer one.") if row.strip().startswith("Answer ")]
    assert answers == ["Answer one.", "Answer two.", "Answer one."]  # the other session stays above
    user.press("enter").see("Another answer.")
    assert launcher.tau.user_messages() == ["question one", "question two"]
    assert len(launcher.tau.sessions()) == 2
    assert sum("Answer two." in str(one) for one in launcher.tau.sessions()) == 1


def test_branch_opens_the_tree_if_double_escape_is_set_to_it(launcher: Launcher) -> None:
    launcher.settings(interaction__doubleEscape="tree")
    user = talked(launcher)
    user.send("/branch").see("Session tree", "user: question two")
    user.press("escape").miss("Session tree")


def test_branch_without_a_message_says_so(launcher: Launcher) -> None:
    launcher.settings(interaction__doubleEscape="branch")
    launcher.start().send("/branch").see("There are no messages to go back to yet.")


def test_fork_without_a_message_says_so(launcher: Launcher) -> None:
    launcher.start().send("/fork").see("There is nothing to copy yet.")


def test_dump_copies_the_conversation_without_secrets(launcher: Launcher) -> None:
    launcher.tau.write("auth.json", {"openai": {"type": "api_key", "key": SECRET}})
    (launcher.tau.home / "auth.json").chmod(0o600)
    launcher.tau.script(Call("bash", {"command": f"echo the key is {SECRET}"}), "Done with it.")
    user = launcher.start().ask("show the key", "Done with it.")
    user.send("/dump").see("Copied")
    (text,) = user.term.terminal.clipboard
    assert "show the key" in text and "echo the key is" in text and "Done with it." in text
    assert SECRET not in text
    assert text.index("show the key") < text.index("Done with it.")


def test_copied_text_goes_to_the_terminal_in_one_sequence(launcher: Launcher) -> None:
    launcher.tau.script("Take **this** away, ünd thät.")
    user = launcher.start().ask("hello", "away")
    user.send("/copy last").see("Copied")
    found = re.findall(rb"\x1b\]52;c;([A-Za-z0-9+/=]*)(?:\x07|\x1b\\)", bytes(user.term.output))
    assert [base64.b64decode(one).decode() for one in found] == ["Take **this** away, ünd thät."]


def test_code_block_is_copied_alone(launcher: Launcher) -> None:
    launcher.tau.script("Do this:\n\n```sh\nmake all\nmake test\n```\n\nThat is it.")
    user = launcher.start().ask("how?", "That is it.")
    user.send("/copy").see("Code: sh")
    user.press("down", "enter").see("Copied")
    user.until(lambda _: user.term.terminal.clipboard == ["make all\nmake test"], "the code alone")


def test_copy_without_an_answer_says_so(launcher: Launcher) -> None:
    launcher.start().send("/copy").see("There is nothing to copy yet.")


def test_init_requests_the_file_with_the_users_instructions(launcher: Launcher) -> None:
    launcher.tau.script(Call("write", {"path": "AGENTS.md", "content": "# A project\n"}), "It is written.")
    user = launcher.start().ask("/init Mention the harbour.", "It is written.")
    message = launcher.tau.user_messages()
    assert len(message) == 1
    assert message[0].startswith("Write the file AGENTS.md") and message[0].endswith("Mention the harbour.")
    assert (launcher.tau.project / "AGENTS.md").read_text() == "# A project\n"
    user.see("AGENTS.md")


def skill(folder: Path, name: str) -> None:
    (folder / "skills" / name).mkdir(parents=True)
    text = f"---\nname: {name}\ndescription: How to sail\n---\nHoist the sails, then steer.\n"
    (folder / "skills" / name / "SKILL.md").write_text(text)


def test_skill_is_offered_and_sent_with_the_request(launcher: Launcher) -> None:
    skill(launcher.tau.home, "sailing")
    user = launcher.start().write("/skill:sai")
    user.see("How to sail")
    user.press("ctrl+c")
    user.editor_is("")
    user.ask("/skill:sailing Go to the island.", OK)
    (message,) = launcher.tau.user_messages()
    assert 'Use the skill "sailing".' in message and "Hoist the sails, then steer." in message
    assert message.endswith("Go to the island.") and str(launcher.tau.home / "skills" / "sailing") in message
    assert "description:" not in message


def test_missing_skill_suggests_the_nearest(launcher: Launcher) -> None:
    skill(launcher.tau.home, "sailing")
    user = launcher.start().send("/skill:saling to the island")  # with an argument, no list is open
    user.see("Unknown command /skill:saling. Did you mean /skill:sailing?")
    user.editor_is("/skill:saling to the island")
    assert not launcher.tau.server.requests


def long_outputs(launcher: Launcher) -> User:
    calls: list[Any] = [Call("bash", {"command": f"seq -f {name}-%g 60"}) for name in ("first", "second")]
    launcher.tau.script(*calls, "Counted.")
    return launcher.start(rows=160).ask("count", "Counted.")


def shown(rows: list[str]) -> list[str]:
    """Which outputs are fully visible."""
    return [name for name in ("first-5", "second-5") if name in {row.strip(" │") for row in rows}]


def test_pager_expands_blocks_one_by_one_or_all(launcher: Launcher) -> None:
    user = long_outputs(launcher)
    user.until(lambda rows: shown(rows) == [], "both folded")
    history = user.term.tape()
    user.press("ctrl+o")
    user.until(lambda rows: shown(rows) == ["first-5", "second-5"], "all")
    user.term.type("E")
    user.until(lambda rows: shown(rows) == [], "none")
    user.press("shift+tab")
    user.term.type("e")
    user.until(lambda rows: shown(rows) == ["second-5"], "the last one")
    user.term.type("q")
    user.until(lambda rows: shown(rows) == [], "the conversation as it was")
    assert user.term.tape() == history
