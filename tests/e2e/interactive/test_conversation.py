"""The first paint, a question, its answer, and tool output, on the real screen."""

import pytest

from tests.e2e.interactive.launcher import Launcher
from tests.support.fake_answers import Answer, Call, CutConnection, Status, Text, Thinking

MARKDOWN = "# A title\n\nSome **bold** words and `code`.\n\n- first\n- second\n\n```python\nx = 1\n```\n"


def test_first_paint_says_what_to_do(launcher: Launcher) -> None:
    user = launcher.start(columns=240)
    rows = user.see("Type a message and press Enter", "/help shows more")
    assert any("fake-model" in row and str(launcher.tau.project)[-8:] in row for row in rows)
    assert user.leave() == 0


def test_answer_is_shown_as_markdown(launcher: Launcher) -> None:
    launcher.tau.script(MARKDOWN)
    user = launcher.start().send("hi")
    rows = user.see("A title", "Some bold words and code.", "first", "second", "x = 1")
    text = "\n".join(rows)
    assert "**" not in text and "```" not in text and "# A" not in text
    assert "❯ hi" in text


def test_message_reaches_the_model_once(launcher: Launcher) -> None:
    launcher.tau.script("One.", "Two.")
    user = launcher.start().send("first question")
    user.see("One.")
    user.send("second question").see("Two.")
    assert launcher.tau.user_messages() == ["first question", "second question"]


def test_message_on_the_command_line_is_sent(launcher: Launcher) -> None:
    launcher.tau.script("Good morning.")
    launcher.start("hello from the shell").see("hello from the shell", "Good morning.")
    assert launcher.tau.user_messages() == ["hello from the shell"]


def test_text_typed_before_the_session_opens_is_kept(launcher: Launcher) -> None:
    launcher.tau.script("Heard you.")
    user = launcher.start(ready="─")
    user.send("early bird")
    user.see("Heard you.")
    assert launcher.tau.user_messages() == ["early bird"]


@pytest.mark.parametrize("text", ["very early bird\r", "!touch ran\r", "one\rtwo\r"])
def test_line_pasted_before_tau_reads_the_terminal_is_in_the_editor_unsent(
    launcher: Launcher, text: str
) -> None:
    launcher.tau.script("Heard you.")
    user = launcher.start(ready="")
    user.term.type(text)
    user.see("fake-model")
    typed = text.rstrip("\r").replace("\r", "\n")
    shown = f"sh {typed}" if typed.startswith("!") else typed
    # The last line end stays if tau was reading already.
    user.until(lambda _: user.editor().rstrip("\n") == shown, f"{shown!r} in the editor")
    assert launcher.tau.server.requests == []
    assert not (launcher.tau.project / "ran").exists()
    if not typed.startswith("!"):
        user.press("enter")
        user.see("Heard you.")
        assert [message.rstrip("\n") for message in launcher.tau.user_messages()] == [typed]


def test_keys_typed_before_tau_reads_the_terminal_are_in_the_editor(launcher: Launcher) -> None:
    launcher.tau.script("Heard you.")
    user = launcher.start(ready="")
    for key in "early":
        user.term.type(key)
    user.editor_is("early")
    user.press("enter")
    user.see("Heard you.")
    assert launcher.tau.user_messages() == ["early"]


def test_command_shows_its_output(launcher: Launcher) -> None:
    launcher.tau.script(Call("bash", {"command": "echo out-$((40 + 2)); echo err >&2"}), "It ran.")
    rows = launcher.start().send("run it").see("out-42", "It ran.")
    assert any("echo out-$((40 + 2))" in row for row in rows)


def test_failing_command_says_so_in_words(launcher: Launcher) -> None:
    launcher.tau.script(Call("bash", {"command": "echo oops; exit 3"}), "It failed.")
    rows = launcher.start().send("run it").see("oops", "It failed.")
    assert any("3" in row and ("exit" in row or "failed" in row or "code" in row) for row in rows)


def test_long_output_is_folded_and_the_transcript_shows_it_all(launcher: Launcher) -> None:
    launcher.tau.script(Call("bash", {"command": "seq -f row-%g 60"}), "Counted.")
    user = launcher.start(rows=90).send("count")
    rows = user.see("row-60", "Counted.")
    assert not any(row.strip() == "row-5" for row in rows)
    user.press("ctrl+o")
    user.until(lambda rows: any(row.strip() == "row-5" for row in rows), "row-5")
    user.press("ctrl+o")
    user.until(lambda rows: not any(row.strip() == "row-5" for row in rows), "no row-5")


def test_edit_shows_its_diff(launcher: Launcher) -> None:
    launcher.settings(edit__mode="replace")
    (launcher.tau.project / "a.py").write_text("def add(a, b):\n    return a - b\n")
    edit = {"path": "a.py", "old_text": "a - b", "new_text": "a + b"}
    launcher.tau.script(Call("edit", edit), "Fixed.")
    rows = launcher.start().send("fix it").see("Fixed.")
    assert any("-" in row and "return a - b" in row for row in rows)
    assert any("+" in row and "return a + b" in row for row in rows)
    assert (launcher.tau.project / "a.py").read_text().endswith("a + b\n")


def test_consecutive_reads_share_one_block(launcher: Launcher) -> None:
    for name in ("one.txt", "two.txt"):
        (launcher.tau.project / name).write_text(f"words of {name}\n")
    calls = (Call("read", {"path": "one.txt"}, id="a"), Call("read", {"path": "two.txt"}, id="b"))
    launcher.tau.script(calls, "Read both.")
    rows = launcher.start().send("read").see("Read both.")
    text = "\n".join(rows)
    assert "one.txt" in text and "two.txt" in text
    assert text.count("Read ") <= 2  # one block, and the answer


def test_thinking_is_hidden_from_the_next_answer_on(launcher: Launcher) -> None:
    launcher.tau.script(
        (Thinking("Deep thought number one.\n\nIt goes on."), Text("Forty-two.")),
        (Thinking("Deep thought number two."), Text("Forty-three.")),
    )
    user = launcher.start().send("why?")
    user.see("Deep thought number one.", "Forty-two.")
    user.rests().press("ctrl+t").see("Thinking is hidden from now on; Ctrl+O shows all of it.")
    user.send("and now?").see("Deep thought number one.", "Forty-three.")
    user.rests()
    assert "Deep thought number two." not in user.output
    assert user.output.count("Deep thought number one.") == 1


def test_wide_characters_and_emoji_stay_in_their_columns(launcher: Launcher) -> None:
    launcher.tau.script("日本語のテキスト and 👩‍👩‍👧 family 🇩🇪 flag")
    user = launcher.start(columns=40)
    user.write("漢字 typed 🎉").press("enter")
    user.see("日本語のテキスト", "flag")
    assert launcher.tau.user_messages() == ["漢字 typed 🎉"]


def test_provider_refusal_is_one_clear_message(launcher: Launcher) -> None:
    launcher.tau.script(Status(401, "Invalid key"), "Fine now.")
    user = launcher.start().send("hello")
    rows = user.see("Invalid key")
    assert "Traceback" not in "\n".join(rows)
    user.send("again").see("Fine now.")


def test_lost_connection_is_reported_and_retry_resends(launcher: Launcher) -> None:
    launcher.tau.script(CutConnection(after_events=3), "Whole again.")
    user = launcher.start().send("hello")
    user.see("/retry")
    user.rests().send("/retry").see("Whole again.")
    assert launcher.tau.user_messages() == ["hello"]


def test_failed_request_is_retried_with_a_countdown(launcher: Launcher) -> None:
    launcher.settings(**{"retry.enabled": True, "retry.baseDelayMs": 50})
    launcher.tau.script(Status(529, "Overloaded"), "Second time lucky.")
    launcher.start().send("hello").see("Second time lucky.")
    assert len(launcher.tau.server.requests) == 2


def test_session_is_named_automatically(launcher: Launcher) -> None:
    launcher.tau.settings(**{"retry.enabled": False})
    launcher.tau.script("Hello.", "Greetings To All")
    launcher.start(columns=240).send("say hello to everybody").see("Hello.", "Greetings To All")


def test_arguments_of_a_call_appear_while_they_stream(launcher: Launcher) -> None:
    call = Call("write", {"path": "long.txt", "content": "word " * 400}, deltas=200)
    launcher.tau.script(Answer((call,), delay_s=0.01), "Written.")
    user = launcher.start().send("write")
    user.see("long.txt")
    assert not (launcher.tau.project / "long.txt").exists()
    user.see("Written.")
    assert (launcher.tau.project / "long.txt").read_text() == "word " * 400


@pytest.mark.parametrize("columns", [24, 40, 200])
def test_nothing_overflows(launcher: Launcher, columns: int) -> None:
    launcher.tau.script((Text(MARKDOWN), Call("bash", {"command": "seq -s, 1 100"})), "Done here.")
    user = launcher.start(columns=columns, ready="Type a message").send("go")
    user.see("Done here.")
    assert all(len(row.rstrip()) <= columns for row in user.term.tape())
    assert user.leave() == 0
