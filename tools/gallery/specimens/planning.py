"""Specimens of tasks, checkpoints, questions and unknown tools."""

from typing import Any

from tau.coding.ports import Checkpoint
from tau.coding.questions import AskAnswer
from tau.coding.todo.list import CompletedTask, TodoItem, TodoPhase
from tau.coding.tools.ask import AskDetails
from tau.coding.tools.rewind import RewindDetails
from tau.coding.tools.todo import TodoDetails
from tools.gallery.specimens.case import Result, in_all_states, one

PHASES = (
    TodoPhase("Look", (TodoItem("Read prices.py", "completed"), TodoItem("Read the tests", "completed"))),
    TodoPhase(
        "Change",
        (
            TodoItem("Check the discount in total()", "completed"),
            TodoItem(
                "Say in the error which discount was given", "in_progress", ("See the wording in carts.py.",)
            ),
            TodoItem("Refuse negative prices as well"),
            TodoItem("Move VAT to the settings", "abandoned"),
        ),
    ),
    TodoPhase("Prove", (TodoItem("Write a test for each case"), TodoItem("Run all tests"))),
)
TODO = TodoDetails(
    phases=PHASES,
    storage="session",
    completed_tasks=[CompletedTask("Change", "Check the discount in total()")],
)
REPORT = """The rounding differs because `quantize` is called *before* the tax:

1. `net()` rounds each line
2. `total()` rounds again

Only the second one should stay. The tests that pin it are in `tests/test_rounding.py`."""
QUESTIONS: dict[str, Any] = {
    "questions": [
        {
            "id": "place",
            "question": "Where should the discount be checked?",
            "options": [
                {"label": "In total()", "description": "One place, but orders built by hand escape it"},
                {"label": "In Order", "description": "Every order is checked when it is made"},
            ],
            "recommended": 1,
        },
        {"id": "error", "question": "Which error?", "options": ["ValueError", "A new DiscountError"]},
    ]
}
CHOSEN = AskAnswer(id="place", question="Where should the discount be checked?", selected=["In Order"])
TYPED = AskAnswer(id="error", question="Which error?", text="The one that carts.py uses")
LATE = AskAnswer(id="place", question="Where?", selected=["In Order"], timed_out=True)
ALSO_LATE = AskAnswer(id="error", question="Which error?", selected=["ValueError"], timed_out=True)
ISSUES = (
    '{"total": 2, "issues": [{"key": "SHOP-12", "title": "Discount above 100 %"}, '
    '{"key": "SHOP-14", "title": "Rounding"}]}'
)
CALL = {"query": "project = SHOP and text ~ discount", "limit": 20, "fields": ["key", "title"]}

SPECIMENS = [
    *in_all_states(
        "todo",
        {"ops": [{"op": "done", "task": "Check the discount in total()"}]},
        streaming={"ops": [{"op": "done", "task": "Check the"}]},
        done=Result("Remaining (5):", TODO, 1),
        failed=Result('Errors: There is no task "Check it".', TODO),
    ),
    one(
        "todo",
        "new",
        "A list is made.",
        "done",
        {"ops": [{"op": "init", "list": []}]},
        Result("", TodoDetails(phases=PHASES[2:], storage="session"), 1),
    ),
    one(
        "todo",
        "empty",
        "Nothing is left.",
        "done",
        {"ops": [{"op": "rm"}]},
        Result("", TodoDetails(phases=(), storage="session"), 1),
    ),
    *in_all_states(
        "checkpoint",
        {"goal": "Find out why the totals of two carts differ by a cent.\nLook at the rounding first."},
        streaming={"goal": "Find out why the to"},
        done=Result(
            "Checkpoint created.", Checkpoint("Find out why the totals differ.", "2026-03-02T10:11:12Z"), 1
        ),
        failed=Result('A checkpoint is already active, for "the tax"; call rewind first.'),
    ),
    *in_all_states(
        "rewind",
        {"report": REPORT},
        streaming={"report": REPORT[:90]},
        done=Result("The report is kept.", RewindDetails(report=REPORT, rewound=True), 2),
        failed=Result("There is no active checkpoint; none was made, or it is closed."),
    ),
    *in_all_states(
        "ask",
        QUESTIONS,
        streaming={"questions": [{"question": "Where should the disc"}]},
        done=Result("place: the user chose In Order.", AskDetails(answers=[CHOSEN, TYPED]), 9_000),
        failed=Result("This mode cannot ask. Decide yourself, and say in your answer what you assumed."),
    ),
    one(
        "ask",
        "late",
        "Nobody answered in time.",
        "done",
        QUESTIONS,
        Result("place: the user did not answer.", AskDetails(answers=[LATE, ALSO_LATE]), 60_000),
    ),
    one(
        "ask",
        "single",
        "One question, waiting.",
        "running",
        {"questions": [{"question": "May I drop the table?", "options": ["Yes", "No"]}]},
        Result(elapsed_ms=5_000),
    ),
    *in_all_states(
        "tracker_search",
        CALL,
        streaming={"query": "project = SH"},
        running=Result("Asking the tracker…", None, 700),
        done=Result(ISSUES, None, 1_150),
        failed=Result("The tracker answered 401: log in again with tau mcp login tracker."),
    ),
    one(
        "weather",
        "text",
        "A tool that nobody knows, with a plain answer.",
        "done",
        {"place": "Bern", "days": 3},
        Result("Mon  12 °C  rain\nTue  15 °C  sun\nWed  14 °C  clouds", None, 220),
    ),
]
