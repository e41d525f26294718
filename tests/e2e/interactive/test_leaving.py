"""The end of the program, and the way back into what was said."""

import re

from tests.e2e.interactive.desk import OK, Desk


def test_the_way_back_is_told_at_the_end_and_works(desk: Desk) -> None:
    seat = desk.start().ask("hello", OK)
    assert seat.leave() == 0
    shown = "\n".join(seat.term.tape())
    found = re.search(r"^Resume with tau -r (\w{8,})$", shown, re.MULTILINE)
    assert found is not None, shown
    desk.start("-r", found[1]).see("hello", OK)


def test_resume_without_an_id_opens_the_list_of_sessions(desk: Desk) -> None:
    desk.start().ask("something old", OK).leave()
    seat = desk.start("-r")
    seat.see("Sessions", "something old")
    seat.press("enter").see(OK)
    assert len(desk.tau.sessions()) == 1


def test_resume_without_an_id_asks_for_one_where_nobody_can_choose(desk: Desk) -> None:
    done = desk.tau.run("-p", "-r")
    assert done.returncode == 2
    assert "use -r ID instead" in done.stderr
