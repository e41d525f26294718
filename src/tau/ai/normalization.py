"""Turns any history into one that every server accepts.

Aborted answers, misplaced results, ids of other models and broken images are fixed or dropped; the rest is
sent unchanged. A longer history normalizes to an extension of a shorter one, so the server's prompt cache
stays valid; only a late result changes what was sent before.
"""

from collections.abc import Iterator, Sequence
from operator import is_
from typing import Any, assert_never

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from tau.ai import wire as w
from tau.ai.model import Model
from tau.base.late import late
from tau.base.text import reveal_invisible, reveal_path

hashlib = late("hashlib")
images = late("tau.ai.images")

MAX_ID_CHARS = 64
MAX_NAME_CHARS = 64
FOREIGN_ID_CHARS = 9  # letters and digits only: the strictest rule of any server

NOT_RUN = "Not run: the answer was interrupted."
UNRECORDED = "The result was not recorded. This call may have taken effect: check before you repeat it."
NO_OUTPUT = "(no output)"
NO_BEGINNING = "(The beginning of this conversation is missing.)"

_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def normalize_history(messages: Sequence[w.AppMessage], model: Model) -> list[w.Message]:
    """Convert the history so that every dialect can send it to `model`."""
    return HistoryNormalizer().normalize(messages, model)


class HistoryNormalizer:
    """Normalizes a history that grows from request to request, each message once.

    What no later message can change is kept, until another model or another beginning makes it start over.
    """

    def __init__(self) -> None:
        self._model: Model | None = None
        self._settled: list[w.AppMessage] = []
        self._sent: list[w.Message] = []  # for the settled messages
        self._used: set[str] = set()  # their ids

    def normalize(self, messages: Sequence[w.AppMessage], model: Model) -> list[w.Message]:
        if (
            model != self._model
            or len(messages) < len(self._settled)
            or not all(map(is_, messages, self._settled))
        ):
            self._model, self._settled, self._sent, self._used = model, [], [], set()
        rest = messages[len(self._settled) :]
        settled = _count_settled(rest)
        self._sent += _normalize(rest[:settled], model, self._used)
        self._settled += rest[:settled]
        sent = [*self._sent, *_normalize(rest[settled:], model, self._used.copy())]
        if sent and isinstance(sent[0], w.AssistantMessage):  # every server requires a user message first
            sent.insert(0, w.UserMessage(NO_BEGINNING, sent[0].timestamp))
        return sent


def _count_settled(messages: Sequence[w.AppMessage]) -> int:
    """How many messages no later one can change: those before the last answer, if all calls have results.

    Whether a failed answer is sent depends on what comes before the next answer.
    """
    answers = [place for place, message in enumerate(messages) if isinstance(message, w.AssistantMessage)]
    before = messages[: answers[-1]] if answers else ()
    calls = sum(len(message.tool_calls) for message in before if isinstance(message, w.AssistantMessage))
    return len(before) if calls == sum(map(len, _pair(before).values())) else 0


def _normalize(messages: Sequence[w.AppMessage], model: Model, used: set[str]) -> list[w.Message]:
    results = _pair(messages)
    ids = _Ids(model, used)
    sent: list[w.Message] = []
    for position, message in enumerate(messages):
        match message:
            case w.AssistantMessage():
                own = results.get(position, {})
                if message.stop_reason == "error" and not _is_replied_to(messages, position, own, model):
                    continue  # the request is or was retried: drop the first attempt
                sent.extend(_assistant(message, own, ids, model))
            case w.ToolResultMessage():
                pass  # sent after its call
            case w.UserMessage():
                sent.extend(_user(message, model))
            case w.BashExecutionMessage() | w.PythonExecutionMessage():
                if message.exclude_from_context is not True:
                    sent.append(w.UserMessage(clean(ran_text(message)), message.timestamp))
            case w.CustomMessage():
                sent.extend(_user(w.UserMessage(message.content, message.timestamp), model))
            case w.BranchSummaryMessage() | w.CompactionSummaryMessage():
                sent.append(w.UserMessage(clean(summary_text(message)), message.timestamp))
            case _:
                assert_never(message)
    return sent


def _is_replied_to(
    messages: Sequence[w.AppMessage], position: int, results: dict[int, w.ToolResultMessage], model: Model
) -> bool:
    """Whether the conversation continues from this answer, not from the prompt before it."""
    for message in messages[position + 1 :]:
        match message:
            case w.AssistantMessage():
                return False
            case w.UserMessage():
                if any(_user(message, model)):
                    return True
            case w.ToolResultMessage():
                if any(message is result for result in results.values()):
                    return True
            case w.BashExecutionMessage() | w.PythonExecutionMessage():
                if message.exclude_from_context is not True:
                    return True
            case w.CustomMessage() | w.BranchSummaryMessage() | w.CompactionSummaryMessage():
                return True
            case _:
                assert_never(message)
    return False


def clean(text: str) -> str:
    """Replace lone surrogates, which cannot be encoded."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def cleaned(value: Any) -> Any:
    """Clean all texts in a JSON value; the same object if nothing changed."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        pairs = {clean(key): cleaned(item) for key, item in value.items()}
        same = len(pairs) == len(value) and all(key in pairs and pairs[key] is value[key] for key in value)
        return value if same else pairs
    if isinstance(value, (list, tuple)):
        items = [cleaned(item) for item in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    return value


def summary_text(message: w.BranchSummaryMessage | w.CompactionSummaryMessage) -> str:
    """A summary, worded for the model."""
    if isinstance(message, w.CompactionSummaryMessage):
        lead = "Summary of the conversation so far:"
    else:
        lead = "Summary of another branch that was abandoned:"
    return f"{lead}\n\n<summary>\n{message.summary}\n</summary>"


def ran_text(message: w.BashExecutionMessage | w.PythonExecutionMessage) -> str:
    """A command or code the user ran, worded for the model."""
    fence = "```"
    code = message.code if isinstance(message, w.PythonExecutionMessage) else ""
    while fence in message.output or fence in code:
        fence += "`"
    if isinstance(message, w.BashExecutionMessage):
        lines = [f"Ran `{message.command}`"]
    else:
        lines = ["Ran this Python:", f"{fence}python", code, fence, "It printed:"]
    lines += [fence, message.output.rstrip("\n") or NO_OUTPUT, fence]
    if message.cancelled:
        lines.append("Cancelled by the user.")
    elif message.exit_code is None:
        lines.append("Killed.")
    elif message.exit_code != 0:
        lines.append(f"Exit code {message.exit_code}.")
    if message.truncated:
        path = message.full_output_path
        lines.append("Output truncated." if isinstance(path, UnsetType) else f"Output truncated; all: {path}")
    return "\n".join(lines)


def _pair(messages: Sequence[w.AppMessage]) -> dict[int, dict[int, w.ToolResultMessage]]:
    """Match results to calls: message position, then call index.

    Ids repeat (some servers count from 0 in every answer), so a result belongs to the nearest earlier call
    without one. Unmatched and duplicate results are dropped.
    """
    pairs: dict[int, dict[int, w.ToolResultMessage]] = {}
    waiting: dict[str, list[tuple[int, int]]] = {}
    for position, message in enumerate(messages):
        if isinstance(message, w.AssistantMessage):
            places: dict[str, list[tuple[int, int]]] = {}
            for place, part in enumerate(message.content):
                if isinstance(part, w.ToolCall):
                    places.setdefault(part.id, []).append((position, place))
            for id, found in places.items():
                waiting[id] = found + waiting.get(id, [])
        elif isinstance(message, w.ToolResultMessage) and (queue := waiting.get(message.tool_call_id)):
            owner, place = queue.pop(0)
            pairs.setdefault(owner, {})[place] = message
    return pairs


class _Ids:
    """Gives each call a unique id in a form the server accepts."""

    def __init__(self, model: Model, used: set[str]) -> None:
        self._model = model
        self._strict = model.api == "anthropic-messages"
        self._short = model.compat.short_call_ids
        self._used = used

    def _is_accepted(self, id: str) -> bool:
        if self._short:
            return len(id) == FOREIGN_ID_CHARS and id.isascii() and id.isalnum()
        return 0 < len(id) <= MAX_ID_CHARS and not (self._strict and not _is_plain(id))

    def name(self, id: str, message: w.AssistantMessage) -> str:
        own = message.provider == self._model.provider and message.api == self._model.api
        chosen = clean(id) if own and self._is_accepted(id) else _short(id)
        repeat = 0
        while chosen in self._used:
            repeat += 1
            chosen = _short(f"{id}#{repeat}")
        self._used.add(chosen)
        return chosen


def _is_plain(text: str) -> bool:
    return text.isascii() and text.replace("_", "a").replace("-", "a").isalnum()


def _short(id: str) -> str:
    """A stable id of letters and digits."""
    number = int.from_bytes(hashlib.sha256(id.encode("utf-8", "surrogatepass")).digest()[:8], "big")
    letters = []
    for _ in range(FOREIGN_ID_CHARS):
        number, place = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[place])
    return "".join(letters)


def _tool_name(name: str) -> str:
    """A model may call a nonexistent tool by a name that servers reject."""
    if len(name) <= MAX_NAME_CHARS and _is_plain(name):
        return name
    return "".join(letter if _is_plain(letter) else "_" for letter in name)[:MAX_NAME_CHARS] or "unknown"


def _assistant(
    message: w.AssistantMessage, results: dict[int, w.ToolResultMessage], ids: _Ids, model: Model
) -> Iterator[w.Message]:
    own = is_issued_by(message, model)
    finished = message.stop_reason not in ("error", "aborted")
    content: list[w.AssistantContent] = []
    answers: list[w.ToolResultMessage] = []
    for place, part in enumerate(message.content):
        match part:
            case w.TextContent():
                if part.text.strip():
                    content.append(_text(part, own))
            case w.ThinkingContent():
                if own and (finished or part.thinking_signature):
                    content.append(replace(part, thinking=clean(part.thinking)))
            case w.ToolCall():
                call = w.ToolCall(
                    ids.name(part.id, message),
                    _tool_name(part.name),
                    cleaned(part.arguments),
                    part.thought_signature if own else UNSET,
                    part.custom_wire_name,
                )
                content.append(call)
                answers.append(_result(results.get(place), call, message, model))
            case _:
                assert_never(part)
    if any(not isinstance(part, w.ThinkingContent) for part in content):
        payload = message.provider_payload if own and len(content) == len(message.content) else UNSET
        same = payload is message.provider_payload and _same(content, message.content)
        yield message if same else replace(message, content=content, provider_payload=payload)
        yield from answers


def is_issued_by(message: w.AssistantMessage, model: Model) -> bool:
    """Whether signatures in an answer are valid for this model: same provider, API, model and server.

    Messages of older versions do not say which server; they came from the provider's usual one.
    """
    if (message.provider, message.model, message.api) != (model.provider, model.id, model.api):
        return False
    if isinstance(message.address, UnsetType):
        return not model.custom_address
    return message.address == w.issuer_address(model.base_url)


def without_opaque_reasoning(message: w.AppMessage, model: Model) -> w.AssistantMessage | None:
    """The answer without what this model's server signed or encrypted; None if it has nothing of that."""
    if not isinstance(message, w.AssistantMessage) or not is_issued_by(message, model):
        return None
    if not w.is_signed(message.content):
        return None
    content = [part for old in message.content if (part := w.without_signature(old)) is not None]
    return replace(message, content=content)


def _same(parts: Sequence[object], others: Sequence[object]) -> bool:
    return len(parts) == len(others) and all(map(is_, parts, others))


def _text(part: w.TextContent, own: bool) -> w.TextContent:
    text = clean(part.text)
    if text is part.text and (own or part.text_signature is UNSET):
        return part
    return w.TextContent(text, part.text_signature if own else UNSET)


def _result(
    result: w.ToolResultMessage | None, call: w.ToolCall, message: w.AssistantMessage, model: Model
) -> w.ToolResultMessage:
    if result is None:
        text = NOT_RUN if message.stop_reason in ("error", "aborted") else UNRECORDED
        return w.ToolResultMessage(call.id, call.name, [w.TextContent(text)], True, message.timestamp)
    return w.ToolResultMessage(
        call.id,
        call.name,
        list(_parts(result.content, model)) or [w.TextContent(NO_OUTPUT)],
        result.is_error,
        result.timestamp,
    )


def _user(message: w.UserMessage, model: Model) -> Iterator[w.UserMessage]:
    """Yields nothing for an empty message."""
    attachments = [] if isinstance(message.attachments, UnsetType) else message.attachments
    if isinstance(message.content, str) and not attachments:
        if message.content.strip():
            text = clean(message.content)
            yield message if text is message.content else w.UserMessage(text, message.timestamp)
        return
    content = [w.TextContent(message.content)] if isinstance(message.content, str) else message.content
    parts = [*_parts(content, model), *_parts([_attached(item) for item in attachments], model)]
    if parts:
        yield w.UserMessage(parts, message.timestamp)


def _attached(attachment: w.Attachment) -> w.UserContent:
    if attachment.type == "image":
        return w.ImageContent(attachment.content, attachment.mime_type)
    name = reveal_path(attachment.file_name)  # a line break in it could pose as another message
    if isinstance(attachment.extracted_text, UnsetType):
        return w.TextContent(f"[{name} is attached, but unreadable]")
    return w.TextContent(f"[{name}]\n{reveal_invisible(attachment.extracted_text)}")


def _parts(content: Sequence[w.UserContent], model: Model) -> Iterator[w.UserContent]:
    """The sendable parts of a message: no blank text, no image that would be rejected."""
    for part in content:
        if isinstance(part, w.ImageContent):
            problem = _problem(part, model)
            yield part if problem is None else w.TextContent(f"[image omitted: {problem}]")
        elif part.text.strip():
            text = clean(part.text)
            yield part if text is part.text and part.text_signature is UNSET else w.TextContent(text)


def _problem(image: w.ImageContent, model: Model) -> str | None:
    if "image" not in model.input:
        return "this model has no vision"
    if image.mime_type not in images.IMAGE_TYPES:
        return f"unsupported type {clean(image.mime_type)}"
    if not image.data or not image.data.isascii():
        return "broken data"
    if len(image.data) > images.MAX_IMAGE_CHARS:
        return "too large"
    return None
