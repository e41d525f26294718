"""Rendering of commands, jobs and cells."""

import re
import subprocess
import sys
from typing import Any

import pytest

from tau.coding.output import OutputMeta, Truncation
from tau.coding.shell.details import BashDetails
from tau.modes.interactive.tool_views import registry
from tau.modes.interactive.tool_views.body_parts import first_lines, last_lines, squeeze
from tau.tui.text.sgr import strip_escapes
from tests.modes.interactive.tool_views.looks import CWD, LOOKS, body, drawn, title, view


def details(**fields: Any) -> BashDetails:
    return BashDetails(**{"command": "make test", "cwd": str(CWD), "exit_code": 0, **fields})


def test_command_follows_its_prompt() -> None:
    assert title(drawn("bash", {"command": "make test"})) == "$ make test"
    assert title(drawn("bash", {"command": "\n\ncd x\nmake"})) == "$ cd x"
    assert title(drawn("bash", {})) == "$ …"
    assert title(drawn("ssh", {"host": "staging", "command": "uptime"})) == "staging $ uptime"
    linear = registry.draw(view("bash", {"command": "make test"}), LOOKS["linear"])
    assert title(linear) == "Run make test"


@pytest.mark.parametrize(
    ("fields", "note"),
    [
        ({"duration_ms": 3_200}, "3.2 s"),
        ({"exit_code": 2, "duration_ms": 3_200}, "exit 2, 3.2 s"),
        ({"exit_code": None, "timed_out": True, "duration_ms": 30_000}, "timed out, 30 s"),
        ({"exit_code": None, "signal": "SIGKILL", "duration_ms": 200_000}, "killed by SIGKILL, 3 min 20 s"),
        ({"job_id": "job-2"}, "in the background as job-2"),
        ({"cwd": f"{CWD}/web", "duration_ms": 400}, "0.4 s, in web"),
    ],
)
def test_note_says_how_it_ended(fields: dict[str, Any], note: str) -> None:
    state = "failed" if note.startswith(("exit", "timed", "ended")) else "done"
    assert drawn("bash", {"command": "make"}, state, details=details(**fields)).note == note


def test_wait_for_an_approval_is_not_the_time_of_a_quick_command() -> None:
    quick = drawn("bash", {"command": "true"}, details=details(duration_ms=0), elapsed_ms=1_900)
    assert quick.note == ""


def test_last_lines_are_shown_and_the_others_counted() -> None:
    text = "\n".join(f"line {number}" for number in range(1, 101))
    rows = body(drawn("bash", {"command": "make"}, text=text, details=details())).split("\n")
    assert rows[0] == "… 80 earlier lines"
    assert (rows[1], rows[-1], len(rows)) == ("line 81", "line 100", 21)
    full = body(drawn("bash", {"command": "make"}, text=text, details=details(), expanded=True)).split("\n")
    assert (full[0], len(full)) == ("line 1", 100)


def test_twenty_lines_need_no_count() -> None:
    text = "\n".join(f"line {number}" for number in range(1, 21)) + "\n"
    assert body(drawn("bash", {"command": "make"}, text=text)).split("\n")[0] == "line 1"


def test_running_command_with_long_output_shows_a_lower_bound() -> None:
    text = "\n".join(f"line {number}" for number in range(1, 1_001))
    shown = body(drawn("bash", {"command": "make"}, "running", text, details=details(exit_code=None)))
    assert shown.startswith("… 980+ earlier lines")
    one_line = body(drawn("bash", {"command": "make"}, "running", "x" * 9_000, details=details()))
    assert one_line.startswith("Earlier output not shown.")


def test_omitted_middle_lines_are_counted_unless_the_text_says_so() -> None:
    truncation = Truncation(
        kept="ends",
        ranges=[(1, 15), (86, 100)],
        total_lines=100,
        total_bytes=9,
        shown_bytes=9,
        artifact_id="7",
    )
    lines = [f"line {number}" for number in (*range(1, 16), *range(86, 101))]
    text = "\n".join([*lines[:15], "[… 70 lines not shown …]", *lines[15:]])
    text += "\n[Showing lines 1-15 and 86-100 of 100; full output: artifact://7]"
    known = details(meta=OutputMeta(truncation=truncation))
    folded = body(drawn("bash", {"command": "make"}, text=text, details=known)).split("\n")
    assert folded[0] == "… 80 earlier lines"
    assert folded[-1] == "Showing lines 1-15 and 86-100 of 100; full output: artifact://7"
    full = body(drawn("bash", {"command": "make"}, text=text, details=known, expanded=True)).split("\n")
    assert full[0] == "line 1"
    assert "[… 70 lines not shown …]" in full


def test_exit_status_is_not_shown_twice() -> None:
    text = "no rule\n[Exit code 2]"
    assert body(drawn("bash", {"command": "make"}, "failed", text, details=details(exit_code=2))) == "no rule"
    unknown = drawn("bash", {"command": "make"}, "failed", text)
    assert body(unknown) == "no rule\nExit code 2"


def test_output_keeps_its_colors_when_the_shell_ends_with_the_command() -> None:
    ended = "[The shell ended with this command; the next one has the state from before it]"
    shown = details(exit_code=1, colored="\x1b[32mPASS\x1b[0m\n")
    call = view("bash", {"command": "make"}, "failed", f"PASS\n{ended}\n[Exit code 1]", details=shown)
    rows = [row for part in registry.draw(call, LOOKS["dark"]).body for row in part.render(90)]
    assert "\x1b[32mPASS" in rows[0] and strip_escapes(rows[1]) == ended[1:-1]


def test_command_that_could_not_run_is_an_error() -> None:
    found = registry.draw(
        view("bash", {"command": "ls"}, "failed", "`cwd` is not a directory: x."), LOOKS["dark"]
    )
    rows = [row for part in found.body for row in part.render(80)]
    assert rows == [LOOKS["dark"]["error"]("`cwd` is not a directory: x.")]


def test_long_command_is_shown_in_full_when_expanded() -> None:
    command = "echo " + "word " * 60
    assert body(drawn("bash", {"command": command})) == ""
    shown = body(drawn("bash", {"command": command}, expanded=True), 40)
    assert shown.replace("\n> ", "").replace("> ", "", 1).split() == command.split()
    assert body(drawn("bash", {"command": "ls"}, expanded=True)) == ""


def test_script_lines_are_distinguished_from_output() -> None:
    found = drawn("bash", {"command": "set -e\nmake"}, text="fine")
    assert body(found).split("\n") == ["> make", "fine"]


def test_only_the_end_of_the_output_is_scanned() -> None:
    assert last_lines("a\nb\nc\n", 2) == (["b", "c"], 1)
    assert last_lines("", 2) == ([], 0)
    assert last_lines("\n\n", 2) == ([], 0)
    assert last_lines("a", 2) == (["a"], 0)
    assert first_lines("a\nb\nc\n", 2) == (["a", "b"], 1)
    assert first_lines("a\nb\n", 2) == (["a", "b"], 0)


def test_rule_made_for_80_columns_is_squeezed_into_78() -> None:
    rule = "=" * 30 + " 31 passed " + "=" * 39
    assert len(squeeze(rule, 78)) == 78
    assert "31 passed" in squeeze(rule, 78)
    assert squeeze("    indented code stays as it is, even if it is too long", 50).startswith("    indented")
    assert squeeze("x" * 80, 78) == "x" * 80


def test_cells_show_code_and_output() -> None:
    cells = [{"language": "py", "code": "x = 1\nx"}, {"language": "js", "code": "1 + 1", "title": "Sum"}]
    found = drawn("eval", {"cells": cells}, "pending")
    assert title(found) == "Python 2 cells: Sum"
    assert "│  x = 1" in body(found)
    assert "JavaScript" in body(found)
    single = drawn("eval", {"cells": cells[1:]}, "failed", "There is no node.")
    assert title(single) == "JavaScript Sum"
    assert body(single).split("\n") == ["│  1 + 1", "There is no node."]


def test_failed_cell_is_shown_even_after_many_others() -> None:
    cells = [{"language": "python", "code": f"step({number})", "status": "complete"} for number in range(9)]
    cells[7] |= {"status": "error", "output": "Traceback: seven"}
    known = {"cells": cells, "language": "python", "languages": ["python"]}
    shown = body(drawn("eval", {}, "failed", "x", details=known))
    assert "Traceback: seven" in shown
    assert "6 more cells." in shown


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        ({"poll": ["job-1"]}, "Wait for job-1"),
        ({"cancel": ["a", "b", "c", "d"]}, "Stop a, b, c and 1 more"),
        ({"list": True}, "List jobs"),
        ({}, "Wait for jobs"),
        ({"poll": ["a"], "cancel": ["b"]}, "Stop b, Wait for a"),
    ],
)
def test_job_call_says_what_it_does(args: dict[str, Any], shown: str) -> None:
    assert title(drawn("job", args)) == shown


def test_renderers_of_the_first_calls_can_be_preloaded() -> None:
    script = (
        "import sys\n"
        "from tau.modes.interactive.tool_views import preload, registry\n"
        "assert 'pygments' not in sys.modules\n"
        "assert 'tau.modes.interactive.tool_views.bash' not in sys.modules\n"
        "preload.load()\n"
        "from pathlib import Path\n"
        "from tau.modes.interactive.tool_views.view import ToolCallView\n"
        "from tools.gallery.widgets.printed import theme_of\n"
        "known = set(sys.modules)\n"
        "for name, args in (('bash', {'command': 'ls'}), ('write', {'path': 'a.py', 'content': 'x = 1'})):\n"
        "    found = registry.draw(ToolCallView(name, args, 'streaming', Path('/')), theme_of('dark'))\n"
        "    [part.render(80) for part in found.body]\n"
        "print(sorted(set(sys.modules) - known))\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("[]\n", "")


COLORED = "\x1b[32mok\x1b[0m one\nplain\n\x1b[31mfailed\x1b[0m two\n"


def colored_rows(text: str, look: str, colored: str = COLORED, width: int = 80) -> list[str]:
    call = view("bash", {"command": "make"}, text=text, details=details(colored=colored))
    return [row for part in registry.draw(call, LOOKS[look]).body for row in part.render(width)]


def test_output_is_dimmer_than_the_answer_and_keeps_the_colors_of_the_command() -> None:
    theme = LOOKS["dark"]
    muted = theme["muted"].open
    assert theme["toolOutput"] == theme["muted"]
    first, second, third = colored_rows("ok one\nplain\nfailed two\n", "dark")
    assert first.startswith(f"{muted}\x1b[32mok") and first.endswith(f"{muted} one{theme['muted'].close}")
    assert second == theme["muted"]("plain")
    assert "\x1b[31mfailed" in third


@pytest.mark.parametrize("look", ["none", "ascii", "linear"])
def test_colors_of_a_command_are_left_out_without_colors(look: str) -> None:
    assert colored_rows("ok one\nplain\nfailed two\n", look) == ["ok one", "plain", "failed two"]


def test_colored_lines_replace_only_the_same_lines() -> None:
    rows = colored_rows("[... 9 lines not shown ...]\nother\nfailed two\n", "dark")
    assert [strip_escapes(row) for row in rows] == ["[... 9 lines not shown ...]", "other", "failed two"]
    assert "\x1b[31m" in rows[-1]
    assert "\x1b[31m" not in "".join(colored_rows("something else\n", "dark"))


def test_nothing_but_colors_passes_from_an_output() -> None:
    evil = "\x1b]0;t\x07\x1b[2Jok\x1b[5m blinks\x1b[8m hides\x1b[0m \x1b[31mred\x1b[6n\n"
    call = view("tracker_search", {}, text=evil)
    rows = [row for part in registry.draw(call, LOOKS["dark"]).body for row in part.render(80)]
    assert "ok blinks hides red" in strip_escapes("".join(rows))
    assert set(re.findall(r"\x1b[^m]*m", "".join(rows))) <= {
        *("\x1b[31m", "\x1b[39m"),
        *(LOOKS["dark"]["toolOutput"].open, LOOKS["dark"]["toolOutput"].close),
    }
    assert not re.search(r"\x1b(?!\[[0-9;]*m)", "".join(rows))


@pytest.mark.parametrize(
    "what", ["Running in the background", "The user moved this to the background; it runs"]
)
def test_note_to_the_model_about_the_background_is_not_shown_twice(what: str) -> None:
    text = f"tick 1\n[{what} as bash-1; its result will follow, or use job]"
    found = drawn("bash", {"command": "make"}, text=text, details=details(exit_code=None, job_id="bash-1"))
    assert found.note == "in the background as bash-1"
    assert body(found) == "tick 1"
