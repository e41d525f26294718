"""Drafts a rule from a complaint, and tries it on the conversation."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from tau.agent.loop_owner import Complete
from tau.ai.dialect import Request
from tau.ai.model import Model
from tau.ai.normalization import clean
from tau.ai.wire import AssistantMessage, TextContent, ThinkingContent, ToolCall, UserMessage
from tau.base.clock import now_ms
from tau.base.errors import ConfigError, TauError
from tau.base.files import make_private, write_atomic
from tau.base.text import shortened
from tau.coding.rules import patterns
from tau.coding.rules.rule import RuleFile, make_rule
from tau.coding.rules.written_files import texts_of, written_files
from tau.config.discovery.front_matter import parse_front_matter

MAX_ANSWERS = 20  # of the conversation, the latest ones
MAX_CHARS = 30_000
ANSWER_TOKENS = 4_000
SHOWN_CHARS = 80


class RuleDraft(Struct, frozen=True):
    """`matches` is what it would have matched in this conversation."""

    text: str
    rule: RuleFile
    matches: list[str]


async def draft_rule(complaint: str, messages: Iterable[Any], complete: Complete, model: Model) -> RuleDraft:
    """Raises TauError if the model does not write a rule."""
    answers = [message for message in messages if isinstance(message, AssistantMessage)][-MAX_ANSWERS:]
    said = [text for answer in answers for _, _, text in _pieces(answer)]
    history = "\n---\n".join(said)[-MAX_CHARS:]
    prompt = f"<complaint>\n{complaint}\n</complaint>\n\n<written>\n{history}\n</written>"
    request = Request(
        system=Path(__file__).with_name("draft.md").read_text(encoding="utf-8").strip(),
        messages=[UserMessage(clean(prompt), now_ms())],
        tools=[],
        max_tokens=min(ANSWER_TOKENS, model.max_tokens),
        thinking="off",
    )
    answer = await complete(model, request)
    if answer.stop_reason in ("error", "aborted"):
        raise TauError(f"No rule was drafted: {answer.error_message or answer.stop_reason}.")
    return read_draft(answer.text, answers)


def read_draft(text: str, answers: Iterable[AssistantMessage]) -> RuleDraft:
    """Raises TauError."""
    text = re.sub(r"^```\w*\n|\n```$", "", text.strip()).strip()
    try:
        head = parse_front_matter(text, Path("draft.md"))
    except ConfigError as error:
        raise TauError(f"The draft is not a valid rule: {error}") from error
    name = re.sub(r"[^a-z0-9-]+", "-", str(head.fields.get("name", "")).lower()).strip("-")[:64]
    if not head.body.strip() or not name:
        raise TauError("The model did not write a rule; say the complaint in other words.")
    rule = make_rule(name, head.body, {**head.fields, "name": name})  # it becomes the name of a file
    text = re.sub(r"(?m)^name:.*$", f"name: {name}", text, count=1)
    compiled = patterns.RulePatterns([rule])
    problems = [*rule.problems, *compiled.problems.get(rule.name, ())]
    if problems or rule.bucket == "unused":
        raise TauError(f"The draft does not work: {'; '.join(problems) or 'it applies to nothing'}.")
    return RuleDraft(text + "\n", rule, list(_try(rule, compiled, answers)))


def save_draft(draft: RuleDraft, folder: Path) -> Path:
    """Save it among the user's rules; one with its name stays. Raises TauError."""
    for number in range(1, 100):
        path = folder / f"{draft.rule.name}{'' if number == 1 else f'-{number}'}.md"
        if not path.exists():
            break
    try:
        make_private(folder)
        write_atomic(path, draft.text.encode())
    except OSError as error:
        raise TauError(f"The rule cannot be saved as {path}: {error.strerror or error}.") from error
    return path


def _try(
    rule: RuleFile, compiled: patterns.RulePatterns, answers: Iterable[AssistantMessage]
) -> Iterator[str]:
    for answer in answers:
        for source, call, text in _pieces(answer):
            tool = "" if call is None else call.name
            paths = [] if call is None else [file.path for file in written_files(call.arguments)]
            fits = rule.covers(source, tool) and rule.covers_paths(source, tool, paths)
            for _, _, shown in compiled.find(text)[:1] if fits else ():
                yield f"{tool or source}: {shortened(' '.join(shown.split()), SHOWN_CHARS)}"


def _pieces(answer: AssistantMessage) -> Iterator[tuple[Any, ToolCall | None, str]]:
    """What rules see of an answer, by source."""
    for part in answer.content:
        match part:
            case TextContent(text=text):
                yield "text", None, text
            case ThinkingContent(thinking=text):
                yield "thinking", None, text
            case ToolCall():
                yield "tool", part, "\n".join(texts_of(part.arguments))
