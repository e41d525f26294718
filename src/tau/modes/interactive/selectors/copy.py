"""Copies part of the conversation: the last answer, a code block, any message."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tau.ai.wire import (
    AppMessage,
    AssistantMessage,
    BashExecutionMessage,
    PythonExecutionMessage,
    UserMessage,
    text_of,
)
from tau.base.late import late
from tau.coding.session.entries import MessageEntry, decode_known
from tau.coding.session.storage.log import SessionLog
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.selectors.pick_list import pick
from tau.tui.widgets.select_list import SelectItem

clipboard = late("tau.modes.interactive.composer.clipboard")

MAX_MESSAGES = 300
"""Offer at most this many messages with text."""
SHOWN_CHARS = 200
_FENCE = r"^ {0,3}(`{3,}|~{3,})[ \t]*([^\n`]*)$"


class CopyItem(NamedTuple):
    """Something to copy: its name, its origin and its text."""

    name: str
    group: str
    text: str


class CodeBlock(NamedTuple):
    language: str
    text: str


async def choose_copy(context: CommandContext) -> None:
    """Ask for a part of the conversation and copy it to the clipboard."""
    session = context.session
    parts = [] if session is None else list(copy_parts(newest_first(session.log)))
    if not parts:
        context.say("There is nothing to copy yet.")
        return
    items = [
        SelectItem(place, part.name, first_line(part.text), part.group, size(part.text))
        for place, part in enumerate(parts)
    ]
    place = await pick(context, "Copy", items, verb="copy")
    if place is not None:
        context.say(await clipboard.copy_text(parts[place].text, context.display.terminal))


def newest_first(log: SessionLog) -> Iterator[AppMessage]:
    """Messages of the active branch, including those a compaction removed from context."""
    for node in reversed(log.branch()):
        if node.type == "message" and isinstance(entry := decode_known(log.line(node)), MessageEntry):
            yield entry.message


def copy_parts(messages: Iterable[AppMessage], most: int = MAX_MESSAGES) -> Iterator[CopyItem]:
    """Newest message first: the whole text, then its code blocks."""
    count = answers = 0
    for message in messages:
        entry = speaker_and_text(message)
        if entry is None or not entry[1].strip():
            continue
        count += 1
        if count > most:
            return
        who, text = entry
        answers += who == "Answer"
        last = who == "Answer" and answers == 1
        group = "Last answer" if last else "Earlier" if answers else "Since the last answer"
        yield CopyItem("Everything" if last else who, group, text)
        for code in code_blocks(text) if who != "Command" else ():
            yield CopyItem(f"Code: {code.language}" if code.language else "Code", group, code.text)


def speaker_and_text(message: AppMessage) -> tuple[str, str] | None:
    """The speaker and the text; None if there is nothing to read."""
    match message:
        case UserMessage(content=content):
            return "You", content if isinstance(content, str) else text_of(content)
        case AssistantMessage():
            return "Answer", message.text
        case BashExecutionMessage(command=command, output=output):
            return "Command", f"{command}\n{output}"
        case PythonExecutionMessage(code=code, output=output):
            return "Command", f"{code}\n{output}"
        case _:
            return None


def code_blocks(text: str) -> list[CodeBlock]:
    """Fenced code blocks of a Markdown text; an unclosed one extends to the end."""
    blocks: list[CodeBlock] = []
    fence = language = ""
    lines: list[str] = []
    for line in text.split("\n"):
        mark = re.match(_FENCE, line)
        if not fence:
            if mark:
                fence, language, lines = mark[1], mark[2].split(" ")[0].strip(), []
        elif mark and mark[1].startswith(fence) and not mark[2].strip():
            blocks.append(CodeBlock(language, "\n".join(lines)))
            fence = ""
        else:
            lines.append(line)
    if fence and lines:
        blocks.append(CodeBlock(language, "\n".join(lines)))
    return [code for code in blocks if code.text.strip()]


def first_line(text: str) -> str:
    """The first non-empty line."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:SHOWN_CHARS]


def size(text: str) -> str:
    lines = text.count("\n") + 1
    return f"{lines:,} lines" if lines > 1 else f"{len(text):,} chars"
