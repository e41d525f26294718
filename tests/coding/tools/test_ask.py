"""Questions to the user, in a UI that shows them together, one by one, or not at all."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from tau.base.errors import ToolError
from tau.coding.questions import AskAnswer, AskQuestion, answer_of, fallback
from tau.coding.tools.ask import DONE, OTHER, Ask, AskDetails
from tests.coding.context import CallContext, FakeDialogs, FakeUi, call_now, text_of

DATABASE = {
    "id": "db",
    "question": "Which database?",
    "options": [{"label": "SQLite", "description": "one file"}, {"label": "PostgreSQL"}],
    "recommended": 0,
}
PARTS = {"id": "parts", "question": "Which parts?", "options": ["api", "web", "docs"], "multi": True}
NAME = {"id": "name", "question": "What is it called?"}


class Person(FakeUi):
    """Also types, from a second list."""

    def __init__(self, answers: Sequence[str | None], typed: Sequence[str | None] = ()) -> None:
        super().__init__(answers)
        self.typed = list(typed)
        self.is_there = True

    async def select(self, title: str, options: Sequence[str], *, timeout: float | None = None) -> str | None:
        if not self.is_there:
            await asyncio.sleep(timeout or 0)
        return await super().select(title, options, timeout=timeout)

    async def input(self, title: str, placeholder: str = "", *, timeout: float | None = None) -> str | None:
        if not self.is_there:
            await asyncio.sleep(timeout or 0)
        self.asked.append(title)
        return self.typed.pop(0)


class Screen(FakeUi, FakeDialogs):
    """Shows all questions together."""

    def __init__(self, result: list[AskAnswer] | None) -> None:
        super().__init__([])
        self.result = result
        self.seen: tuple[Sequence[AskQuestion], float | None] | None = None

    async def ask_questions(
        self, asked: Sequence[AskQuestion], timeout_s: float | None
    ) -> list[AskAnswer] | None:
        self.seen = (asked, timeout_s)
        return self.result


def test_without_a_ui_the_tool_refuses(ctx: CallContext) -> None:
    with pytest.raises(ToolError, match="This mode cannot ask"):
        call_now(Ask(), ctx, questions=[DATABASE])


def test_choice_returns_its_label(ctx: CallContext) -> None:
    ctx.ui = ui = Person(["SQLite (recommended): one file"])
    output = call_now(Ask(), ctx, questions=[DATABASE])
    assert text_of(output) == "The user chose SQLite."
    assert ui.offered == [["SQLite (recommended): one file", "PostgreSQL", OTHER]]
    assert isinstance(output.details, AskDetails)
    assert output.details.answers[0].selected == ["SQLite"]


def test_other_answer_is_typed(ctx: CallContext) -> None:
    ctx.ui = Person([OTHER], [" DuckDB "])
    assert text_of(call_now(Ask(), ctx, questions=[DATABASE])) == "The user wrote: DuckDB"


def test_question_without_options_is_a_text_field(ctx: CallContext) -> None:
    ctx.ui = Person([], ["Shop"])
    assert text_of(call_now(Ask(), ctx, questions=[NAME])) == "The user wrote: Shop"


@pytest.mark.parametrize(
    ("answers", "typed", "expected"),
    [
        (["api", "docs", DONE], [], "The user chose api, docs."),
        (["api", "web", "docs"], [], "The user chose api, web, docs."),
        (["web", OTHER], ["and the tests"], "The user chose web, and wrote: and the tests"),
    ],
)
def test_multiple_choice(ctx: CallContext, answers: list[Any], typed: list[Any], expected: str) -> None:
    ctx.ui = Person(answers, typed)
    assert text_of(call_now(Ask(), ctx, questions=[PARTS])) == expected


def test_several_answers_are_returned_under_their_names(ctx: CallContext) -> None:
    ctx.ui = Person(["PostgreSQL"], ["Shop"])
    text = text_of(call_now(Ask(), ctx, questions=[DATABASE, NAME]))
    assert text == "db: the user chose PostgreSQL.\nname: the user wrote: Shop"


def test_dismissed_question_ends_the_call(ctx: CallContext) -> None:
    ctx.ui = Person([None])
    with pytest.raises(ToolError, match="closed the question without an answer"):
        call_now(Ask(), ctx, questions=[DATABASE, NAME])


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (DATABASE, "The user did not answer within 0.05 s, so the default applies: SQLite."),
        (
            {**DATABASE, "recommended": 1},
            "The user did not answer within 0.05 s, so the default applies: PostgreSQL.",
        ),
        (
            {**DATABASE, "recommended": 9},
            "The user did not answer within 0.05 s, so the default applies: SQLite.",
        ),
    ],
)
def test_recommended_option_is_used_on_timeout_and_reported(
    ctx: CallContext, question: dict[str, Any], expected: str
) -> None:
    ctx.ui = ui = Person([None])
    ui.is_there = False
    output = call_now(Ask(0.05), ctx, questions=[question])
    assert text_of(output) == expected
    assert isinstance(output.details, AskDetails) and output.details.answers[0].timed_out


def test_timeout_without_options_lets_the_model_decide(ctx: CallContext) -> None:
    ctx.ui = ui = Person([], [None])
    ui.is_there = False
    text = text_of(call_now(Ask(0.05), ctx, questions=[NAME]))
    assert text == "The user did not answer within 0.05 s, so decide yourself."


def test_dismissal_before_the_timeout_counts(ctx: CallContext) -> None:
    ctx.ui = Person([None])
    with pytest.raises(ToolError, match="closed the question"):
        call_now(Ask(30), ctx, questions=[DATABASE])


def test_rich_ui_receives_all_questions(ctx: CallContext) -> None:
    question = AskQuestion(id="db", question="Which database?")
    ctx.ui = ctx.dialogs = ui = Screen([answer_of(question, ["SQLite"]), fallback(question)])
    call_now(Ask(7), ctx, questions=[DATABASE, PARTS])
    assert ui.seen is not None
    asked, timeout_s = ui.seen
    assert [one.id for one in asked] == ["db", "parts"]
    assert timeout_s == 7
    assert ui.asked == []


def test_plain_strings_are_accepted_as_questions_and_options() -> None:
    params, ignored = Ask().decode({"questions": ["Ready?", {"question": "Sure?", "options": ["a", "b"]}]})
    assert [question.id for question in params.questions] == ["q1", "q2"]
    assert [option.label for option in params.questions[1].options] == ["a", "b"]
    assert ignored == []


@pytest.mark.parametrize(
    "questions", [[], [{"id": "a"}], "none", [{"id": "a", "question": "?", "options": ["x"] * 31}], [[]]]
)
def test_invalid_questions_are_refused(questions: object) -> None:
    with pytest.raises(ToolError):
        Ask().decode({"questions": questions})


def test_answer_length_is_limited() -> None:
    answer = answer_of(AskQuestion(id="a", question="?"), [], "x" * 100_000)
    assert isinstance(answer.text, str) and len(answer.text) == 20_000
