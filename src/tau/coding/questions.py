"""Questions from the agent to the user, and the answers."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

MAX_OPTIONS = 30
MAX_ANSWER_CHARS = 20_000


class AskOption(Struct, frozen=True):
    label: Annotated[str, Meta(title="The choice, in a few words", min_length=1)]
    description: Annotated[str, Meta(title="What it means")] = ""


class AskQuestion(Struct, frozen=True):
    id: Annotated[str, Meta(title="A short name for the answer")]
    question: Annotated[str, Meta(title="The question, a full sentence", min_length=1)]
    options: Annotated[
        list[AskOption],
        Meta(title="Answers to choose from; the user can always type another", max_length=MAX_OPTIONS),
    ] = []
    multi: Annotated[bool, Meta(title="Allow several options")] = False
    recommended: Annotated[int | None, Meta(title="Index of the option you recommend, from 0")] = None

    @property
    def suggested(self) -> int | None:
        """The recommended option, if it exists."""
        at = self.recommended
        return at if at is not None and 0 <= at < len(self.options) else None


class AskAnswer(Struct, frozen=True, rename="camel", kw_only=True):
    """The chosen options, the typed text, or the fallback after a timeout."""

    id: str
    question: str
    selected: list[str] = []
    text: str | UnsetType = UNSET
    timed_out: bool = False


def fallback(question: AskQuestion) -> AskAnswer:
    """The answer after a timeout: the recommended option, else the first."""
    at = question.suggested or 0
    selected = [question.options[at].label] if question.options else []
    return AskAnswer(id=question.id, question=question.question, selected=selected, timed_out=True)


def answer_of(question: AskQuestion, selected: Sequence[str], text: str = "") -> AskAnswer:
    typed = text.strip()[:MAX_ANSWER_CHARS]
    return AskAnswer(
        id=question.id, question=question.question, selected=list(selected), text=typed if typed else UNSET
    )
