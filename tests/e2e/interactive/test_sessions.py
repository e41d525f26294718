"""Resuming a session, another one, or from another point in it."""

from tests.e2e.interactive.launcher import OK, Launcher


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


def test_double_escape_opens_the_tree(launcher: Launcher) -> None:
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
