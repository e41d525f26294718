"""ask: questions to the user, with options to choose from."""

import time
from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct

from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.agent.ui import Ui
from tau.base.errors import ToolError
from tau.base.text import clean_line, shortened
from tau.coding.ports import CodingContext
from tau.coding.questions import AskAnswer, AskQuestion, answer_of, fallback

MAX_QUESTIONS = 10
OTHER = "Other (type it)"
DONE = "Done"


class AskParams(Struct, frozen=True):
    questions: Annotated[
        list[AskQuestion], Meta(title="All questions at once", min_length=1, max_length=MAX_QUESTIONS)
    ]


class AskDetails(Struct, frozen=True, rename="camel", kw_only=True):
    answers: list[AskAnswer]


class Ask(Tool[AskParams]):
    """After `timeout_s` the recommended option is taken; 0 waits forever."""

    name, label = "ask", "Ask"
    exclusive = True

    def __init__(self, timeout_s: float = 0) -> None:
        self._timeout_s = timeout_s or None

    def decode(self, arguments: dict[str, Any]) -> tuple[AskParams, list[str]]:
        """Accept options as plain strings and questions without an id."""
        return super().decode(_normalize(arguments))

    async def run(self, params: AskParams, ctx: CodingContext) -> ToolOutput:
        if ctx.ui is None:
            raise ToolError("This mode cannot ask. Decide yourself, and say in your answer what you assumed.")
        if ctx.dialogs is not None:
            answers = await ctx.dialogs.ask_questions(params.questions, self._timeout_s)
        else:
            answers = await ask_one_by_one(params.questions, ctx.ui, self._timeout_s)
        if answers is None:
            raise ToolError(
                "The user closed the question without an answer. Do not ask it again: end your answer, and "
                "say what you need to know."
            )
        return ToolOutput.text(_format(answers, self._timeout_s), AskDetails(answers=answers))


async def ask_one_by_one(
    questions: Sequence[AskQuestion], ui: Ui, timeout_s: float | None
) -> list[AskAnswer] | None:
    """For modes without dialogs."""
    answers: list[AskAnswer] = []
    for question in questions:
        begun = time.monotonic()
        answer = await _ask(question, ui, timeout_s)
        # A mode reports a dismissal and a timeout alike: the clock tells them apart.
        if answer is None and timeout_s is not None and time.monotonic() - begun >= timeout_s * 0.95:
            answer = fallback(question)
        if answer is None:
            return None
        answers.append(answer)
    return answers


async def _ask(question: AskQuestion, ui: Ui, timeout_s: float | None) -> AskAnswer | None:
    if not question.options:
        text = await ui.input(question.question, timeout=timeout_s)
        return None if text is None else answer_of(question, (), text)
    labels = {_label(question, at): option.label for at, option in enumerate(question.options)}
    selected: list[str] = []
    while True:
        left = [shown for shown, label in labels.items() if label not in selected]
        options = [*left, OTHER, *([DONE] if selected else [])]
        title = f"{question.question} (so far: {', '.join(selected)})" if selected else question.question
        chosen = await ui.select(title, options, timeout=timeout_s)
        if chosen is None:
            return None
        if chosen == OTHER:
            text = await ui.input(question.question, timeout=timeout_s)
            return None if text is None else answer_of(question, selected, text)
        if chosen in labels:
            selected.append(labels[chosen])
        if not question.multi or chosen == DONE or len(selected) == len(labels):
            return answer_of(question, selected)


def _label(question: AskQuestion, at: int) -> str:
    option = question.options[at]
    about = f": {clean_line(option.description)}" if option.description.strip() else ""
    mark = " (recommended)" if at == question.suggested else ""
    return f"{clean_line(option.label)}{mark}{shortened(about, 200)}"


def _format(answers: Sequence[AskAnswer], timeout_s: float | None) -> str:
    """Format the answers for the model."""
    if len(answers) == 1:
        return f"The user {_describe(answers[0], timeout_s)}"
    return "\n".join(f"{answer.id}: the user {_describe(answer, timeout_s)}" for answer in answers)


def _describe(answer: AskAnswer, timeout_s: float | None) -> str:
    chosen = ", ".join(answer.selected)
    if answer.timed_out:
        outcome = f"so the default applies: {chosen}" if chosen else "so decide yourself"
        return f"did not answer within {timeout_s or 0:g} s, {outcome}."
    if isinstance(answer.text, str):
        before = f"chose {chosen}, and " if chosen else ""
        return f"{before}wrote: {answer.text}"
    return f"chose {chosen}." if chosen else "chose none of the options."


def _normalize(arguments: dict[str, Any]) -> dict[str, Any]:
    questions = arguments.get("questions")
    if not isinstance(questions, list):
        return arguments
    return {
        **arguments,
        "questions": [_normalize_one(number, one) for number, one in enumerate(questions, 1)],
    }


def _normalize_one(number: int, question: Any) -> Any:
    if isinstance(question, str):
        question = {"question": question}
    if not isinstance(question, dict):
        return question
    fields = {"id": f"q{number}", **{name: value for name, value in question.items() if value is not None}}
    options = fields.get("options")
    if isinstance(options, list):
        fields["options"] = [{"label": one} if isinstance(one, str) else one for one in options]
    return fields
