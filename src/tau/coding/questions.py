"""Questions of the agent to the user, and their answers."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

MAX_OPTIONS = 30
MAX_ANSWER_CHARS = 20_000


class AskOption(Struct, frozen=True):
    label: Annotated[str, Meta(description="What the user chooses, in a few words", min_length=1)]
    description: Annotated[str, Meta(description="What that would mean")] = ""


class AskQuestion(Struct, frozen=True):
    id: Annotated[str, Meta(description="A short name, under which the answer comes back")]
    question: Annotated[str, Meta(description="The question, as a whole sentence", min_length=1)]
    options: Annotated[
        list[AskOption],
        Meta(
            description="Answers to choose from; the user can always type another one",
            max_length=MAX_OPTIONS,
        ),
    ] = []
    multi: Annotated[bool, Meta(description="More than one option may be chosen")] = False
    recommended: Annotated[
        int | None, Meta(description="Which option you would take, counted from 0; it is marked")
    ] = None

    @property
    def suggested(self) -> int | None:
        """The option that is recommended, if there is such an option."""
        at = self.recommended
        return at if at is not None and 0 <= at < len(self.options) else None


class AskAnswer(Struct, frozen=True, rename="camel", kw_only=True):
    """What was chosen, what was typed, or what was taken because nobody answered in time."""

    id: str
    question: str
    selected: list[str] = []
    text: str | UnsetType = UNSET
    timed_out: bool = False


def fallback(question: AskQuestion) -> AskAnswer:
    """What holds when nobody answers in time: the recommended option, else the first."""
    at = question.suggested or 0
    selected = [question.options[at].label] if question.options else []
    return AskAnswer(id=question.id, question=question.question, selected=selected, timed_out=True)


def answer_of(question: AskQuestion, selected: Sequence[str], text: str = "") -> AskAnswer:
    typed = text.strip()[:MAX_ANSWER_CHARS]
    return AskAnswer(
        id=question.id, question=question.question, selected=list(selected), text=typed if typed else UNSET
    )
