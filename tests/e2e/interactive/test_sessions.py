"""Resuming a session, another one, or from another point in it."""

from tests.e2e.interactive.launcher import OK, Launcher
from tests.support.fake_answers import Call


def talk(launcher: Launcher, question: str, answer: str) -> None:
    launcher.tau.script(answer)
    user = launcher.start().ask(question, answer)
    assert user.leave() == 0


def test_continue_shows_the_conversation_and_resumes_it(launcher: Launcher) -> None:
    talk(launcher, "first question", "First answer.")
    launcher.tau.script("Second answer.")
    user = launcher.start("-c")
    user.see("first question", "First answer.")
    user.send("second question").see("Second answer.")
    assert launcher.tau.user_messages() == ["first question", "second question"]
    assert len(launcher.tau.sessions()) == 1


def test_resume_chooses_another_session(launcher: Launcher) -> None:
    talk(launcher, "about elephants", "They are grey.")
    launcher.tau.script("Whales answer.", "More on elephants.")
    user = launcher.start().ask("about whales", "Whales answer.")
    user.send("/resume").see("about elephants")
    user.term.type("elephants")
    user.until(lambda rows: not any("about whales" in row and "messages" in row for row in rows), "one row")
    user.press("enter").see("They are grey.")
    user.miss("Filter:")
    user.send("go on").see("More on elephants.")
    assert launcher.tau.user_messages() == ["about elephants", "go on"]


def test_tree_leads_back_to_a_message_and_a_branch_continues_there(launcher: Launcher) -> None:
    launcher.tau.script("Answer one.", "Answer two.", "Another answer.")
    user = launcher.start().ask("question one", "Answer one.").ask("question two", "Answer two.")
    user.send("/tree").see("user: question two")
    user.press("up", "enter")
    user.editor_is("question two")
    user.miss("Answer two.")
    user.press("ctrl+c")
    user.editor_is("")
    user.ask("question three", "Another answer.")
    assert launcher.tau.user_messages() == ["question one", "question three"]
    user.send("/tree").see("user: question two", "user: question three")


def test_double_escape_goes_one_prompt_back_with_its_files(launcher: Launcher) -> None:
    file = launcher.tau.project / "a.txt"
    write = [Call("write", {"path": "a.txt", "content": text}) for text in ("one\n", "two\n")]
    launcher.tau.script(write[0], "Wrote one.", write[1], "Wrote two.")
    user = launcher.start().ask("write one", "Wrote one.").ask("write two", "Wrote two.")
    user.press("escape", "escape").see("Rewind to before a message", "restores a.txt.")
    user.press("escape").miss("Go back to before")
    assert file.read_text() == "two\n"
    user.press("escape", "escape").see("restores a.txt.")
    user.press("enter").see("Rewound the conversation and files")
    user.editor_is("write two")
    assert file.read_text() == "one\n"
    user.press("ctrl+c")
    user.send("/redo").until(lambda _: file.read_text() == "two\n", "the files again")


def test_double_escape_opens_the_tree_if_set(launcher: Launcher) -> None:
    launcher.settings(interaction__doubleEscape="tree")
    user = launcher.start().ask("hello", OK)
    user.press("escape", "escape").see("Session tree")
    user.press("escape").miss("Session tree")


def test_fork_leaves_the_original_alone(launcher: Launcher) -> None:
    launcher.tau.script("Answer one.", "Only in the copy.")
    user = launcher.start().ask("question one", "Answer one.")
    user.send("/fork").see("Continuing in a copy")
    user.send("question two").see("Only in the copy.")
    sizes = sorted(len(str(one)) for one in launcher.tau.sessions())
    assert len(sizes) == 2
    assert sum("Only in the copy" in str(one) for one in launcher.tau.sessions()) == 1


def test_missing_session_is_one_sentence(launcher: Launcher) -> None:
    ran = launcher.start("-r", "nosuch", ready="")
    ran.see("nosuch")
    assert "Traceback" not in ran.output


def test_two_windows_on_one_session_do_not_harm_each_other(launcher: Launcher) -> None:
    talk(launcher, "first question", "First answer.")
    one = launcher.start("-c")
    one.see("First answer.")
    two = launcher.start("-c", ready="")
    two.see("First answer.", "so this is a separate copy")
    assert "Traceback" not in two.output
