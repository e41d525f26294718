"""Tool calls and commands as collapsible cards: a summary line, and the details."""

import re
from collections.abc import Iterator, Sequence
from html import escape

import msgspec

from tau.ai.wire import (
    BashExecutionMessage,
    ImageContent,
    PythonExecutionMessage,
    TextContent,
    ToolCall,
    ToolResultMessage,
    UserContent,
)
from tau.coding.export.markdown_html import code_block
from tau.coding.export.syntax_colors import escape as escape_text
from tau.coding.export.syntax_colors import language_of, language_of_file
from tau.coding.session.snippets import arguments_line, json_text, one_line

TITLE_CHARS = 140
MAX_TEXT_CHARS = 500_000  # per output; the other formats have the rest
OPEN_DIFF_LINES = 30  # shorter changes start expanded

_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp"})
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]*={0,2}\s*")


def call_card(call: ToolCall, result: ToolResultMessage | None) -> str:
    """A call and its result; None: no result."""
    details = result.details if result is not None and isinstance(result.details, dict) else {}
    stored = details.get("diff")
    diff = stored if isinstance(stored, str) else ""
    body = [_diff(diff)] if diff else list(_arguments(call))
    if result is not None:
        body.append(_output(result, language=_output_language(call), quiet=bool(diff)))
    failed = result is not None and result.is_error
    state = "failed" if failed else "no result" if result is None else _changed(details)
    short_diff = bool(diff) and diff.count("\n") <= OPEN_DIFF_LINES and not failed
    return _card(call.name, _title(call, details), "".join(body), state, failed=failed, open=short_diff)


def result_card(result: ToolResultMessage) -> str:
    """A result without its call."""
    state = "failed" if result.is_error else ""
    return _card(result.tool_name, "result", _output(result), state, failed=result.is_error)


def command_card(message: BashExecutionMessage | PythonExecutionMessage) -> str:
    """A command run by the user."""
    is_shell = isinstance(message, BashExecutionMessage)
    code = message.command if isinstance(message, BashExecutionMessage) else message.code
    failed = message.cancelled or message.exit_code not in (0, None)
    state = "cancelled" if message.cancelled else f"exit {message.exit_code}" if failed else ""
    if message.exclude_from_context is True:
        state = f"{state} not shown to the model".strip()
    body = code_block(code, "shell" if is_shell else "python") + text_block(message.output)
    name = "you ran" if is_shell else "you ran Python"
    return _card(name, one_line(code, TITLE_CHARS), body, state, failed=failed)


def image(part: ImageContent) -> str:
    """The image, if browsers show its type and it cannot contain scripts."""
    kind = part.mime_type.lower()
    if kind not in _IMAGES or _BASE64.fullmatch(part.data) is None:
        return f'<p class="left-out">An image of the type {escape(part.mime_type[:80])} is not shown.</p>'
    return f'<img alt="" loading="lazy" src="data:{kind};base64,{"".join(part.data.split())}">'


def text_block(text: str, language: str = "", *, numbered: bool = False) -> str:
    if not text.strip():
        return ""
    more = len(text) - MAX_TEXT_CHARS
    if more <= 0:
        return code_block(text, language, numbered=numbered)
    note = f'<p class="left-out">{more:,} more characters not shown.</p>'
    return code_block(text[:MAX_TEXT_CHARS], language, numbered=numbered) + note


def contents(parts: Sequence[UserContent], language: str = "", *, numbered: bool = False) -> Iterator[str]:
    for part in parts:
        if isinstance(part, TextContent):
            yield text_block(part.text, language, numbered=numbered)
        else:
            yield image(part)


def _card(name: str, title: str, body: str, state: str, *, failed: bool, open: bool = False) -> str:
    badge = f'<span class="state">{escape_text(state)}</span>' if state else ""
    kind = "tool failed" if failed else "tool"
    return (
        f'<details class="{kind}"{" open" if open else ""}><summary><b>{escape_text(name)}</b> '
        f'<span class="what">{escape_text(title)}</span>{badge}</summary>'
        f'<div class="body">{body or _NOTHING}</div></details>\n'
    )


_NOTHING = '<p class="left-out">Nothing to show.</p>'


def _title(call: ToolCall, details: dict[str, object]) -> str:
    arguments = call.arguments
    if isinstance(path := details.get("path"), str) and call.name in ("edit", "write", "ast_edit"):
        return one_line(path, TITLE_CHARS)
    cells = arguments.get("cells")
    if isinstance(cells, list) and cells and isinstance(cells[0], dict):
        arguments = {**cells[0], "path": cells[0].get("title") or cells[0].get("code")}
    return one_line(arguments_line(arguments), TITLE_CHARS)


def _changed(details: dict[str, object]) -> str:
    added, removed = details.get("added"), details.get("removed")
    if isinstance(added, int) and isinstance(removed, int) and (added or removed):
        return f"+{added} −{removed}"
    return ""


def _arguments(call: ToolCall) -> Iterator[str]:
    """Short arguments as a list, long ones in separate blocks; code is highlighted."""
    path = call.arguments.get("path")
    file_language = language_of_file(path) if isinstance(path, str) else ""
    short: list[str] = []
    long: list[str] = []
    for key, value in call.arguments.items():
        if key == "cells" and isinstance(value, list):
            long += [_cell(cell) for cell in value]
        elif isinstance(value, str) and ("\n" in value or len(value) > TITLE_CHARS or key == "command"):
            long.append(code_block(value, _argument_language(key, value, file_language), label=key))
        elif isinstance(value, (dict, list)) and value:
            text = msgspec.json.format(json_text(value), indent=2)
            long.append(code_block(text, "json", label=key))
        else:
            shown = value if isinstance(value, str) else json_text(value)
            short.append(f"<dt>{escape_text(key)}</dt><dd>{escape_text(shown)}</dd>")
    if short:
        yield f"<dl>{''.join(short)}</dl>"
    yield from long


def _argument_language(key: str, value: str, file_language: str) -> str:
    if key == "command":
        return "shell"
    if value.startswith(("--- ", "diff --git", "@@ ")):
        return "diff"
    return file_language if key in ("content", "new_text", "old_text", "text", "code") else ""


def _cell(cell: object) -> str:
    if not isinstance(cell, dict):
        return code_block(json_text(cell), "json")
    language = language_of(str(cell.get("language", "")))
    return code_block(str(cell.get("code", "")), language, label=str(cell.get("title") or "")[:80])


def _diff(diff: str) -> str:
    return code_block(diff[:MAX_TEXT_CHARS], "diff")


def _output_language(call: ToolCall) -> str:
    """Highlight read output by its file type; a selector may follow the name."""
    path = call.arguments.get("path")
    if call.name != "read" or not isinstance(path, str):
        return ""
    return language_of_file(re.sub(r"(?<=\w):[\d,+\-]*\Z", "", path))


def _output(result: ToolResultMessage, *, language: str = "", quiet: bool = False) -> str:
    """`quiet`: the change itself is shown, so the text sent to the model is collapsed."""
    shown = "".join(contents(result.content, language, numbered=bool(language)))
    if not shown:
        return ""
    if quiet and not result.is_error:
        return f'<details class="sent"><summary>Sent to the model</summary>{shown}</details>'
    return f'<div class="output">{shown}</div>'
