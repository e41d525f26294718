"""The first paint, a question, its answer, and what the tools did, on the real screen."""

import pytest

from tests.e2e.interactive.desk import Desk
from tests.support.fake_answers import Answer, Call, CutConnection, Status, Text, Thinking

MARKDOWN = "# A title\n\nSome **bold** words and `code`.\n\n- first\n- second\n\n```python\nx = 1\n```\n"


def test_the_first_paint_says_what_to_do(desk: Desk) -> None:
    seat = desk.start(columns=240)
    rows = seat.see("Type a message and press Enter", "/help shows more")
    assert any("fake-model" in row and str(desk.tau.project)[-8:] in row for row in rows)
    assert seat.leave() == 0


def test_an_answer_is_shown_as_markdown(desk: Desk) -> None:
    desk.tau.script(MARKDOWN)
    seat = desk.start().send("hi")
    rows = seat.see("A title", "Some bold words and code.", "first", "second", "x = 1")
    text = "\n".join(rows)
    assert "**" not in text and "```" not in text and "# A" not in text
    assert "❯ hi" in text


def test_what_was_asked_reaches_the_model_once(desk: Desk) -> None:
    desk.tau.script("One.", "Two.")
    seat = desk.start().send("first question")
    seat.see("One.")
    seat.send("second question").see("Two.")
    assert desk.tau.said() == ["first question", "second question"]


def test_a_message_on_the_command_line_is_sent(desk: Desk) -> None:
    desk.tau.script("Good morning.")
    desk.start("hello from the shell").see("hello from the shell", "Good morning.")
    assert desk.tau.said() == ["hello from the shell"]


def test_what_is_typed_before_the_session_is_there_is_kept(desk: Desk) -> None:
    desk.tau.script("Heard you.")
    seat = desk.start(ready="─")
    seat.term.type("early bird\r")
    seat.see("Heard you.")
    assert desk.tau.said() == ["early bird"]


def test_what_was_sent_before_the_first_paint_is_sent(desk: Desk) -> None:
    desk.tau.script("Heard you.")
    seat = desk.start(ready="")
    seat.term.type("very early bird\r")
    seat.see("very early bird")
    seat.until(lambda _: bool(desk.tau.server.requests), "a request")


def test_a_command_shows_its_output(desk: Desk) -> None:
    desk.tau.script(Call("bash", {"command": "echo out-$((40 + 2)); echo err >&2"}), "It ran.")
    rows = desk.start().send("run it").see("out-42", "It ran.")
    assert any("echo out-$((40 + 2))" in row for row in rows)


def test_a_command_that_fails_says_so_in_words(desk: Desk) -> None:
    desk.tau.script(Call("bash", {"command": "echo oops; exit 3"}), "It failed.")
    rows = desk.start().send("run it").see("oops", "It failed.")
    assert any("3" in row and ("exit" in row or "failed" in row or "code" in row) for row in rows)


def test_long_output_is_folded_and_ctrl_o_shows_it_all(desk: Desk) -> None:
    desk.tau.script(Call("bash", {"command": "seq -f row-%g 60"}), "Counted.")
    seat = desk.start(rows=90).send("count")
    rows = seat.see("row-60", "Counted.")
    assert not any(row.strip() == "row-5" for row in rows)
    seat.press("ctrl+o")
    seat.until(lambda rows: any(row.strip() == "row-5" for row in rows), "row-5")
    seat.press("ctrl+o")
    seat.until(lambda rows: not any(row.strip() == "row-5" for row in rows), "no row-5")


def test_an_edit_shows_its_diff(desk: Desk) -> None:
    desk.settings(edit__mode="replace")
    (desk.tau.project / "a.py").write_text("def add(a, b):\n    return a - b\n")
    edit = {"path": "a.py", "old_text": "a - b", "new_text": "a + b"}
    desk.tau.script(Call("edit", edit), "Fixed.")
    rows = desk.start().send("fix it").see("Fixed.")
    assert any("-" in row and "return a - b" in row for row in rows)
    assert any("+" in row and "return a + b" in row for row in rows)
    assert (desk.tau.project / "a.py").read_text().endswith("a + b\n")


def test_files_that_are_read_stand_in_one_block(desk: Desk) -> None:
    for name in ("one.txt", "two.txt"):
        (desk.tau.project / name).write_text(f"words of {name}\n")
    calls = (Call("read", {"path": "one.txt"}, id="a"), Call("read", {"path": "two.txt"}, id="b"))
    desk.tau.script(calls, "Read both.")
    rows = desk.start().send("read").see("Read both.")
    text = "\n".join(rows)
    assert "one.txt" in text and "two.txt" in text
    assert text.count("Read ") <= 2  # one block, and the answer


def test_thinking_is_shown_and_hidden(desk: Desk) -> None:
    desk.tau.script((Thinking("Deep thought number one.\n\nIt goes on."), Text("Forty-two.")))
    seat = desk.start().send("why?")
    seat.see("Deep thought number one.", "Forty-two.")
    seat.press("ctrl+t").miss("Deep thought number one.")
    seat.press("ctrl+t").see("Deep thought number one.")


def test_wide_characters_and_emoji_stay_in_their_columns(desk: Desk) -> None:
    desk.tau.script("日本語のテキスト and 👩‍👩‍👧 family 🇩🇪 flag")
    seat = desk.start(columns=40)
    seat.write("漢字 typed 🎉").press("enter")
    seat.see("日本語のテキスト", "flag")
    assert desk.tau.said() == ["漢字 typed 🎉"]


def test_a_refusal_of_the_provider_is_one_clear_message(desk: Desk) -> None:
    desk.tau.script(Status(401, "Invalid key"), "Fine now.")
    seat = desk.start().send("hello")
    rows = seat.see("Invalid key")
    assert "Traceback" not in "\n".join(rows)
    seat.send("again").see("Fine now.")


def test_a_lost_connection_is_told_and_retry_sends_it_again(desk: Desk) -> None:
    desk.tau.script(CutConnection(after_events=3), "Whole again.")
    seat = desk.start().send("hello")
    seat.see("/retry")
    seat.rests().send("/retry").see("Whole again.")
    assert desk.tau.said() == ["hello"]


def test_a_failed_request_is_tried_again_with_a_countdown(desk: Desk) -> None:
    desk.settings(**{"retry.enabled": True, "retry.baseDelayMs": 50})
    desk.tau.script(Status(529, "Overloaded"), "Second time lucky.")
    desk.start().send("hello").see("Second time lucky.")
    assert len(desk.tau.server.requests) == 2


def test_the_session_gets_a_name_of_its_own(desk: Desk) -> None:
    desk.tau.settings(**{"retry.enabled": False})
    desk.tau.script("Hello.", "Greetings To All")
    desk.start(columns=240).send("say hello to everybody").see("Hello.", "Greetings To All")


def test_arguments_of_a_call_appear_while_they_stream(desk: Desk) -> None:
    call = Call("write", {"path": "long.txt", "content": "word " * 400}, deltas=200)
    desk.tau.script(Answer((call,), delay_s=0.01), "Written.")
    seat = desk.start().send("write")
    seat.see("long.txt")
    assert not (desk.tau.project / "long.txt").exists()
    seat.see("Written.")
    assert (desk.tau.project / "long.txt").read_text() == "word " * 400


@pytest.mark.parametrize("columns", [24, 40, 200])
def test_nothing_overflows(desk: Desk, columns: int) -> None:
    desk.tau.script((Text(MARKDOWN), Call("bash", {"command": "seq -s, 1 100"})), "Done here.")
    seat = desk.start(columns=columns, ready="Type a message").send("go")
    seat.see("Done here.")
    assert all(len(row.rstrip()) <= columns for row in seat.term.tape())
    assert seat.leave() == 0
