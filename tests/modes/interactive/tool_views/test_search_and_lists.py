"""Rendering of searches, tasks, questions and unknown tools."""

from typing import Any

import pytest

from tau.modes.interactive.tool_views import match_tree, registry
from tests.modes.interactive.tool_views.looks import LOOKS, body, drawn, title, view
from tools.gallery.specimens.looking import FOUND, MANY


@pytest.mark.parametrize(
    ("tool", "args", "shown"),
    [
        ("search", {"pattern": "total", "paths": "src"}, "Search /total/ in src"),
        ("search", {"pattern": "total", "paths": "."}, "Search /total/"),
        ("search", {"pattern": "a", "paths": ["b", "c", "d", "e"]}, "Search /a/ in b, c, d and 1 more"),
        ("find", {"paths": ["**/*.py"]}, "Find **/*.py"),
        ("find", {"paths": "docs"}, "Find docs"),
        ("ast_grep", {"pat": "f($X)", "paths": "src"}, "Search code f($X) in src"),
        ("ast_edit", {"ops": [{"pat": "a", "out": "b"}]}, "Rewrite code a -> b"),
        ("resolve", {"action": "apply", "reason": "Good."}, "Apply the preview: Good."),
        ("resolve", {"action": "discard"}, "Discard the preview"),
        ("todo", {"ops": [{"op": "start", "task": "Write"}]}, "Todo: start Write"),
        ("checkpoint", {"goal": "Find the leak"}, "Checkpoint Find the leak"),
        ("rewind", {"report": "x"}, "Rewind to the checkpoint"),
        ("inspect_image", {"path": "a.png"}, "Inspect a.png"),
        ("ask", {"questions": [{"question": "Which?"}]}, "Ask Which?"),
        ("ask", {"question": "Which?", "options": ["a"]}, "Ask Which?"),
        ("mcp__x__y", {"query": "q"}, "mcp__x__y q"),
        ("unknown", {}, "unknown"),
    ],
)
def test_title_says_what_is_done(tool: str, args: dict[str, Any], shown: str) -> None:
    assert title(drawn(tool, args)) == shown


def test_matches_are_marked() -> None:
    args = {"pattern": r"\btotal\b", "paths": "."}
    found = registry.draw(view("search", args, details=FOUND), LOOKS["dark"])
    rows = [row for part in found.body for row in part.render(80)]
    marked = LOOKS["dark"]["matched"]("total")
    assert sum(marked in row for row in rows) == 6
    assert "6 matches in 3 files" in found.note


def test_context_is_shown_when_expanded() -> None:
    args = {"pattern": "total", "paths": "."}
    assert "import VAT" not in body(drawn("search", args, details=FOUND))
    assert "import VAT" in body(drawn("search", args, details=FOUND, expanded=True))


def test_all_files_are_named_before_lines_are_shown() -> None:
    rows = body(drawn("search", {"pattern": "logging"}, details=MANY)).split("\n")
    assert rows[0] == "src/shop/pages/page_001.py  3"
    assert rows[-1] == "… 4 more files"


def test_result_rows_are_parsed() -> None:
    files = match_tree.parse_matches("# a.py\n  5│x\n*12│a│b\nnonsense\n\n# b.py\n*1│")
    assert [(file.name, file.matched, len(file.lines)) for file in files] == [("a.py", 1, 2), ("b.py", 1, 1)]
    assert files[0].lines[1].text == "a│b"
    assert match_tree.parse_matches("*12│no file") == []


@pytest.mark.parametrize(
    ("pattern", "line", "marked"),
    [
        ("total", "a total", ["total"]),
        (r"\btot\w+", "a total", ["total"]),
        ("a|b", "xaxb", ["a", "b"]),
        (r"def \w+\(", "def f(x)", ["def f("]),
        (r"foo\s*=\s*bar", "foo = bar", ["foo"]),
        ("(a+)+$", "aaa", []),
        ("[", "a [ b", []),
        ("x*", "abc", []),
        ("handle_request(", "handle_request(x)", ["handle_request"]),
    ],
)
def test_match_spans(pattern: str, line: str, marked: list[str]) -> None:
    found = [line[start:end] for start, end in match_tree.spans(pattern, line, ignore_case=False)]
    assert found == marked


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+b",
        "(a|a)*b",
        "a*a*a*a*a*a*b",
        "(a?){40}a{40}",
        "a?" * 40 + "b" * 40,
        "(a|a|aa)" * 15 + "b",
        "(.*)*x",
    ],
)
def test_catastrophic_pattern_is_not_tried(pattern: str) -> None:
    found = match_tree.compile_marker(pattern, True)
    assert found is None or found.pattern.isalpha()
    assert not match_tree.spans(pattern, "a" * match_tree.MAX_LINE_CHARS, ignore_case=True)


def test_empty_result_is_reported() -> None:
    shown = drawn("find", {"paths": ["*"]}, details={"scopePath": ".", "fileCount": 0, "files": []})
    assert shown.note == "nothing found"


def test_tasks_show_their_state_as_signs_and_words() -> None:
    tasks = [
        {"content": name, "status": status}
        for name, status in (("a", "completed"), ("b", "in_progress"), ("c", "pending"), ("d", "abandoned"))
    ]
    known = {"phases": [{"name": "P", "tasks": tasks}], "storage": "session"}
    found = drawn("todo", {}, details=known)
    assert body(found).split("\n") == ["P  2 of 4", "  ☑ a", "  ❯ b", "  ☐ c", "  ✗ d"]
    assert found.note == "2 of 4 tasks done"
    linear = registry.draw(view("todo", {}, details=known), LOOKS["linear"])
    assert body(linear).split("\n")[1:] == ["done: a", "in progress: b", "to do: c", "dropped: d"]


def test_long_task_list_is_bounded() -> None:
    tasks = [{"content": f"task {number}"} for number in range(300)]
    known = {"phases": [{"name": "P", "tasks": tasks}], "storage": "session"}
    rows = body(drawn("todo", {}, details=known)).split("\n")
    assert len(rows) == 21
    assert rows[-1] == "… 281 more rows"


def test_chosen_options_are_shown() -> None:
    args = {"questions": [{"question": "Which?", "options": [{"label": "One"}, "Two"], "recommended": 0}]}
    asked = drawn("ask", args, "pending")
    assert body(asked).split("\n") == ["☐ One  recommended", "☐ Two"]
    waiting = drawn("ask", args, "running")
    assert waiting.note == "waiting for an answer" and not waiting.body

    def answered(**answer: Any) -> str:
        known = {"answers": [{"id": "q1", "question": "Which?", **answer}]}
        return body(drawn("ask", args, text="The user answered.", details=known))

    assert answered(selected=["Two"]) == "☑ Two"
    assert answered(text="Neither, do this.") == "Typed: Neither, do this."
    assert answered(selected=["One"], text="And more.") == "☑ One\nTyped: And more."
    assert answered() == "Nothing chosen."
    assert "The user answered." in body(drawn("ask", args, text="The user answered.", details={"old": 1}))


def test_json_is_formatted() -> None:
    rows = body(drawn("unknown", {}, text='{"a": [1, 2], "b": null}')).split("\n")
    assert rows == ["{", '  "a": [', "    1,", "    2", "  ],", '  "b": null', "}"]
    assert body(drawn("unknown", {}, text='{"a":')) == '{"a":'
    assert "no json" in body(drawn("unknown", {}, text="[no json]"))


def test_arguments_of_an_unknown_tool_are_short_lines() -> None:
    args = {"path": "/home/ada/shop/a.py", "depth": 3, "deep": {"x": [1]}, **{f"k{n}": n for n in range(20)}}
    rows = body(drawn("unknown", args, "pending")).split("\n")
    assert rows[:2] == ["depth: 3", 'deep: {"x":[1]}']
    assert rows[-1] == "… 14 more arguments"
    assert title(drawn("unknown", args)) == "unknown a.py"
