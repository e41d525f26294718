"""Session titles: typed by the user or made by a small model."""

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from tau.agent.abort import Abort, Aborted
from tau.agent.loop_owner import Complete
from tau.ai.dialect import Request
from tau.ai.model import THINKING_BUDGETS, Model, ThinkingLevel
from tau.ai.normalization import clean
from tau.ai.wire import Usage, UserMessage
from tau.base import log
from tau.base.clock import now_ms
from tau.base.errors import SessionError, TauError
from tau.base.late import late
from tau.base.text import clean_line
from tau.coding.session import entries as s
from tau.coding.session.snippets import message_text, one_line
from tau.coding.session.storage.log import SessionLog

re = late("re")


TITLE_CHARS = 60
NAME_CHARS = 200  # of a name typed by the user
READ_CHARS = 2_000  # of the message to make a title from
MAX_LINE_CHARS = 120  # a longer line is an answer, not a title
ANSWER_TOKENS = 1_024  # a title takes ten, but some models always think first
UNTITLED = "Untitled session"

_CHAT_STARTS = (
    *("i ", "i'", "i’", "sorry", "sure", "certainly", "of course", "here is", "here's", "here’s", "as an ai"),
)


async def make_title(
    complete: Complete,
    model: Model,
    first_message: str,
    thinking: ThinkingLevel = "off",
    instructions: str = "",
) -> tuple[str, Usage]:
    """A title for a conversation that starts with this message, and its usage.

    If the model fails or its answer is not a title, use the first words of the message.
    """
    request = Request(
        system=instructions or Path(__file__).with_name("title.md").read_text(encoding="utf-8").strip(),
        messages=[UserMessage(clean(f"<message>\n{_start_of(first_message)}\n</message>"), now_ms())],
        tools=[],
        max_tokens=min(ANSWER_TOKENS + THINKING_BUDGETS[thinking], model.max_tokens),
        thinking=thinking,
    )
    try:
        answer = await complete(model, request)
    except TauError as error:
        log.warning("No title could be made.", error)
        return first_words(first_message), Usage()
    if answer.stop_reason in ("error", "aborted"):
        log.warning(f"No title could be made: {answer.error_message or answer.stop_reason}")
        return first_words(first_message), answer.usage
    return clean_title(answer.text) or first_words(first_message), answer.usage


def clean_title(text: str) -> str | None:
    """Extract the title from a model's answer: one short line without decoration; None if there is none."""
    text = re.sub(r"(?s)<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", " ", text)
    lines = (clean_line(line) for line in text.splitlines())
    line = next((line for line in lines if any(letter.isalnum() for letter in line)), "")
    line = re.sub(r"</?[a-zA-Z]+>|`", "", line)
    line = re.sub(r"(\*{1,3})(\S(?:[^*]*\S)?)\1", r"\2", line)
    line = re.sub(
        r"^(?:[#>•\-–\s]|\d{1,2}[.)]\s)*(?:(?i:(?:session |the )?(?:title|name))\s*[:：]\s*)?", "", line
    )
    line = line.strip(" \t\"'“”„‘’«»").rstrip(".。:;,").strip(" \"'“”„‘’«»")
    if not any(letter.isalnum() for letter in line) or len(line) > MAX_LINE_CHARS:
        return None
    if line.lower().startswith(_CHAT_STARTS):
        return None
    return _cut(line)


def first_words(message: str) -> str:
    """A title from the message itself. Never empty."""
    lines = (one_line(line, MAX_LINE_CHARS) for line in message[:READ_CHARS].splitlines())
    line = next((line for line in lines if any(letter.isalnum() for letter in line)), "")
    return _cut(line.strip("#>*` ")) or UNTITLED


def _cut(line: str) -> str:
    """At most `TITLE_CHARS`, cut between words if possible."""
    if len(line) <= TITLE_CHARS:
        return line
    kept = line[: TITLE_CHARS - 1]
    whole, _, _ = kept.rpartition(" ")
    return f"{(whole if len(whole) > TITLE_CHARS // 2 else kept).rstrip(' ,;:-–')}…"


def _start_of(message: str) -> str:
    return message if len(message) <= READ_CHARS else f"{message[:READ_CHARS]}\n[rest omitted]"


class SessionTitle(Struct):
    """Names a session. `model` returns the small model when it is needed.

    `enabled` tells modes whether to name sessions automatically.
    """

    log: SessionLog
    complete: Complete
    model: Callable[[], Model]
    enabled: bool = True
    thinking: Callable[[], ThinkingLevel | None] = lambda: None
    instructions: str = ""
    _suggested: bool = False

    @property
    def name(self) -> str | None:
        return self.log.name

    def rename(self, text: str) -> str | None:
        """Rename the session; an empty text removes its name. Returns the new name."""
        name = one_line(text, NAME_CHARS)
        if name != (self.log.name or ""):
            self.log.append(s.SessionInfo(name=name))
        return name or None

    async def suggest(self, abort: Abort) -> str | None:
        """Let the small model name an unnamed session, once. Returns the title, or None if it set none.

        Errors are logged, never raised. After an abort it may be called again.
        """
        first = None if self._suggested or self._is_named() else self._first_message()
        if first is None:
            return None
        self._suggested = True
        model = self.model()
        try:
            async with abort.scope():
                thinking = self.thinking() or "off"
                title, usage = await make_title(self.complete, model, first, thinking, self.instructions)
        except Aborted:
            self._suggested = False
            return None
        except Exception as error:
            log.error("A title could not be made.", error)
            return None
        try:
            return self._record_title(title, model, usage)
        except SessionError as error:
            log.error("A title could not be written.", error)
            return None

    def _record_title(self, title: str, model: Model, usage: Usage) -> str | None:
        """Log the title, unless the user has typed a name meanwhile, and the usage in any case."""
        named = self._is_named()
        if not named:
            self.log.append(s.SessionInfo(name=title))
        if usage != Usage():
            self.log.append(s.UsageEntry(kind="title", provider=model.provider, model=model.id, usage=usage))
        return None if named else title

    def _is_named(self) -> bool:
        """Whether there is a name, or the user has removed it."""
        return self.log.name is not None or any(n.type == "session_info" for n in self.log.nodes())

    def _first_message(self) -> str | None:
        for node in self.log.nodes():
            entry = self.log.decode(node) if node.type == "message" else None
            if isinstance(entry, s.MessageEntry) and isinstance(entry.message, UserMessage):
                return message_text(entry.message.content)
        return None
