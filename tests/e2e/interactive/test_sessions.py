"""Going on with a session, with another one, or from another place in it."""

from tests.e2e.interactive.desk import OK, Desk


def talk(desk: Desk, question: str, answer: str) -> None:
    desk.tau.script(answer)
    seat = desk.start().ask(question, answer)
    assert seat.leave() == 0


def test_continue_shows_what_was_said_and_goes_on(desk: Desk) -> None:
    talk(desk, "first question", "First answer.")
    desk.tau.script("Second answer.")
    seat = desk.start("-c")
    seat.see("first question", "First answer.")
    seat.send("second question").see("Second answer.")
    assert desk.tau.said() == ["first question", "second question"]
    assert len(desk.tau.sessions()) == 1


def test_resume_chooses_another_session(desk: Desk) -> None:
    talk(desk, "about elephants", "They are grey.")
    desk.tau.script("Whales answer.", "More on elephants.")
    seat = desk.start().ask("about whales", "Whales answer.")
    seat.send("/resume").see("about elephants")
    seat.term.type("elephants")
    seat.until(lambda rows: not any("about whales" in row and "messages" in row for row in rows), "one row")
    seat.press("enter").see("They are grey.")
    seat.miss("Filter:")
    seat.send("go on").see("More on elephants.")
    assert desk.tau.said() == ["about elephants", "go on"]


def test_the_tree_leads_back_to_a_message_and_a_branch_goes_on_from_there(desk: Desk) -> None:
    desk.tau.script("Answer one.", "Answer two.", "Another answer.")
    seat = desk.start().ask("question one", "Answer one.").ask("question two", "Answer two.")
    seat.send("/tree").see("user: question two")
    seat.press("up", "enter")
    seat.editor_is("question two")
    seat.miss("Answer two.")
    seat.press("ctrl+c")
    seat.editor_is("")
    seat.ask("question three", "Another answer.")
    assert desk.tau.said() == ["question one", "question three"]
    seat.send("/tree").see("user: question two", "user: question three")


def test_escape_twice_opens_the_tree(desk: Desk) -> None:
    seat = desk.start().ask("hello", OK)
    seat.press("escape", "escape").see("Session tree")
    seat.press("escape").miss("Session tree")


def test_a_fork_leaves_the_original_alone(desk: Desk) -> None:
    desk.tau.script("Answer one.", "Only in the copy.")
    seat = desk.start().ask("question one", "Answer one.")
    seat.send("/fork").see("Continuing in a copy")
    seat.send("question two").see("Only in the copy.")
    sizes = sorted(len(str(one)) for one in desk.tau.sessions())
    assert len(sizes) == 2
    assert sum("Only in the copy" in str(one) for one in desk.tau.sessions()) == 1


def test_a_session_that_is_not_there_is_one_sentence(desk: Desk) -> None:
    ran = desk.start("-r", "nosuch", ready="")
    ran.see("nosuch")
    assert "Traceback" not in ran.told


def test_two_windows_at_one_session_do_not_harm_each_other(desk: Desk) -> None:
    talk(desk, "first question", "First answer.")
    one = desk.start("-c")
    one.see("First answer.")
    two = desk.start("-c", ready="")
    two.see("First answer.", "so this is a separate copy")
    assert "Traceback" not in two.told
