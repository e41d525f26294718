"""A todo list as a Markdown page and back."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from tau.coding.todo.list import Phases, TodoItem, TodoPhase, normalized, one_line
from tau.coding.todo.markdown import from_markdown, to_markdown

LIST: Phases = (
    TodoPhase(
        "Build",
        (
            TodoItem("write it", "completed"),
            TodoItem("test it", "in_progress", ("see a.py\n\n  indented", "and b.py")),
            TodoItem("paint it", "abandoned"),
        ),
    ),
    TodoPhase("Empty"),
    TodoPhase("Ship", (TodoItem("[x] send # it", "pending"),)),
)
PAGE = """\
# Build

- [x] write it
- [/] test it
  > see a.py
  >
  >   indented

  > and b.py
- [-] paint it

# Empty

# Ship

- [ ] [x] send # it
"""


def test_list_is_editable_markdown() -> None:
    assert to_markdown(LIST) == PAGE
    assert from_markdown(PAGE).phases == LIST and not from_markdown(PAGE).errors


def test_handwritten_markdown_is_understood() -> None:
    text = "* [ ] first\r\n\r\n## More ##\n1. [X] second\n2. third\n+ [>] fourth\n- [~] fifth\n- [] sixth\n"
    parsed = from_markdown(text)
    assert not parsed.errors
    assert [(p.name, [(t.content, t.status) for t in p.tasks]) for p in parsed.phases] == [
        ("Todos", [("first", "pending")]),
        (
            "More ##",
            [
                ("second", "completed"),
                ("third", "pending"),
                ("fourth", "in_progress"),
                ("fifth", "abandoned"),
                ("sixth", "pending"),
            ],
        ),
    ]


def test_one_task_is_in_progress_whatever_the_page_says() -> None:
    tasks = from_markdown("- [/] a\n- [/] b\n").phases[0].tasks
    assert [task.status for task in tasks] == ["in_progress", "pending"]
    assert from_markdown("- [x] a\n- [ ] b\n").phases[0].tasks[1].status == "in_progress"


def test_meaningless_lines_are_named() -> None:
    parsed = from_markdown("> lost\nwords\n# \n- [?] what\n- [ ] \n- [ ] a\n")
    assert parsed.errors == [
        "Line 1 is a note that belongs to no task.",
        "Line 2 is not a phase, task or note.",
        "Line 3 is a phase without a name.",
        "Line 4 has the unknown mark [?]; use [ ], [/], [x] or [-].",
        "Line 5 is a task without text.",
    ]
    assert [task.content for phase in parsed.phases for task in phase.tasks] == ["a"]


def test_empty_page_is_an_empty_list() -> None:
    assert from_markdown("").phases == () and to_markdown(()) == ""


CHARACTERS = st.characters(codec="utf-8")
LINES = st.text(CHARACTERS, max_size=12).map(one_line)
NAMES = LINES.filter(bool)
NOTES = st.lists(LINES, min_size=1, max_size=3).map(lambda lines: "\n".join(lines).rstrip()).filter(bool)
TASKS = st.builds(
    TodoItem,
    NAMES,
    st.sampled_from(["pending", "in_progress", "completed", "abandoned"]),
    st.just(UNSET) | st.lists(NOTES, min_size=1, max_size=3).map(tuple),
)
PHASES = st.lists(st.builds(TodoPhase, NAMES, st.lists(TASKS, max_size=4).map(tuple)), max_size=3).map(tuple)


@given(PHASES)
def test_every_list_round_trips(phases: Phases) -> None:
    parsed = from_markdown(to_markdown(phases))
    assert not parsed.errors
    assert parsed.phases == normalized(phases)


@given(st.text(CHARACTERS, max_size=200))
def test_any_text_parses(text: str) -> None:
    phases = from_markdown(text).phases
    assert from_markdown(to_markdown(phases)).phases == phases
