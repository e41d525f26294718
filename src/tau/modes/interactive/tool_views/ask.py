"""ask: questions with their options, and the user's answers."""

from collections.abc import Mapping
from typing import NamedTuple

from tau.base.text import quantity
from tau.coding.questions import AskAnswer
from tau.coding.tools.ask import AskDetails
from tau.modes.interactive.tool_views.body_parts import (
    HEAD_ROWS,
    MAX_ROWS,
    TAIL_ROWS,
    LazyRows,
    head,
    more_row,
    rows_limit,
)
from tau.modes.interactive.tool_views.failures import problem
from tau.modes.interactive.tool_views.labels import first_line, list_arg, note, one_line, text_arg
from tau.modes.interactive.tool_views.view import RenderedCall, ToolCallView, details_as
from tau.tui.component import Component
from tau.tui.style import Theme
from tau.tui.text.cut import truncate
from tau.tui.text.wrap import wrap

MAX_QUESTIONS = 50
MAX_OPTIONS = 50
MAX_TYPED_CHARS = 4_000
SHORT_CHARS = 60
"""Length of a question that fits the title."""


class QuestionView(NamedTuple):
    text: str
    options: list[tuple[str, str]]
    """Labels and descriptions."""
    recommended: int = -1
    answer: AskAnswer | None = None


def draw(view: ToolCallView, theme: Theme) -> RenderedCall:
    details = details_as(AskDetails, view.details) if view.state == "done" else None
    questions = _questions(view, details)
    title = f"{theme['strong']('Ask')} {theme['accent'](_title(questions)) or theme.symbols.ellipsis}"
    body: list[Component] = []
    if questions and (view.state != "running" or view.expanded):  # while waiting, the dialog shows them
        body.append(LazyRows(theme, lambda width: _paint(view, theme, questions, width)))
    body += problem(view, theme)
    if view.state == "done" and details is None and view.text.strip():
        body.append(head(theme, view.text, rows_limit(view, HEAD_ROWS), token="text"))
    waiting = "waiting for an answer" if view.state == "running" else ""
    unanswered = "no answer in time" if details and any(a.timed_out for a in details.answers) else ""
    return RenderedCall(title, body, note(view, theme, waiting, unanswered))


def _title(questions: list[QuestionView]) -> str:
    if len(questions) > 1:
        return quantity(len(questions), "question")
    return first_line(questions[0].text) if questions else ""


def _questions(view: ToolCallView, details: AskDetails | None) -> list[QuestionView]:
    """The questions; answers are matched by position."""
    questions: list[QuestionView] = []
    for each in list_arg(view, "questions")[:MAX_QUESTIONS]:
        if isinstance(each, Mapping):
            at = each.get("recommended")
            recommended = at if isinstance(at, int) and not isinstance(at, bool) else -1
            questions.append(
                QuestionView(_words(each, "question"), _options(each.get("options")), recommended)
            )
        elif isinstance(each, str):
            questions.append(QuestionView(each, []))
    if not questions and (text := text_arg(view, "question")):
        questions.append(QuestionView(text, _options(list_arg(view, "options"))))
    answers = [] if details is None else details.answers
    return [
        question._replace(answer=answers[number] if number < len(answers) else None)
        for number, question in enumerate(questions)
    ]


def _options(values: object) -> list[tuple[str, str]]:
    options: list[tuple[str, str]] = []
    for each in values[:MAX_OPTIONS] if isinstance(values, list) else []:
        if isinstance(each, str):
            options.append((each, ""))
        elif isinstance(each, Mapping):
            options.append((_words(each, "label"), _words(each, "description")))
    return options


def _words(values: Mapping[object, object], name: str) -> str:
    value = values.get(name)
    return value if isinstance(value, str) else ""


def _paint(view: ToolCallView, theme: Theme, questions: list[QuestionView], width: int) -> list[str]:
    limit = MAX_ROWS if view.expanded else TAIL_ROWS
    rows: list[str] = []
    for question in questions:
        if len(questions) > 1 or (view.expanded and len(question.text) > SHORT_CHARS):
            rows += [theme["strong"](row) for row in wrap(one_line(question.text, 2_000), width)]
        rows += _answer_rows(view, theme, question, width)
    if len(rows) > limit:
        rows = [*rows[: limit - 1], more_row(theme, len(rows) - limit + 1, "more row", width)]
    return rows


def _answer_rows(view: ToolCallView, theme: Theme, question: QuestionView, width: int) -> list[str]:
    """The options with the chosen ones marked; once answered, only those unless expanded."""
    answer = question.answer
    chosen = [] if answer is None else answer.selected
    rows: list[str] = []
    for number, (label, description) in enumerate(question.options):
        if answer is None or view.expanded or label in chosen:
            about = "recommended" if number == question.recommended and answer is None else ""
            about = ", ".join(part for part in (about, one_line(description)) if part)
            rows.append(_option(theme, label, about, width, chosen=label in chosen))
    if answer is None:
        return rows
    labels = {label for label, _ in question.options}
    rows += [_option(theme, one, "", width, chosen=True) for one in chosen[:MAX_OPTIONS] if one not in labels]
    if isinstance(answer.text, str):
        typed = f"Typed: {one_line(answer.text, MAX_TYPED_CHARS)}"
        rows += [theme["success"](row) for row in wrap(typed, width)]
    elif not chosen:
        rows.append(theme["muted"](truncate("Nothing chosen.", width, theme.symbols.ellipsis)))
    return rows


def _option(theme: Theme, label: str, about: str, width: int, *, chosen: bool) -> str:
    name = one_line(label)
    ellipsis = theme.symbols.ellipsis
    if theme.linear:
        word = "Chosen: " if chosen else "Option: "
        return truncate(f"{word}{name}{f', {about}' if about else ''}", width, ellipsis)
    sign = theme.symbols.checkbox_on if chosen else theme.symbols.checkbox_off
    look = theme["success" if chosen else "text"]
    return truncate(f"{look(sign)} {look(name)}  {theme['dim'](about)}".rstrip(), width, ellipsis)
