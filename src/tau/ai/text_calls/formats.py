"""The formats in which models write calls, each by the mark that a call begins with.

A parser starts behind its mark and returns what it read. It raises Incomplete if the text ends too early, and
NotACall if this is no call of a registered tool.
"""

import re
from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from tau.ai.text_calls.grammar import CallCursor, Incomplete, NotACall, Prose, TextCall
from tau.base.late import late
from tau.base.sizes import KIB

ast = late("ast")

Item: TypeAlias = TextCall | Prose
Parser: TypeAlias = Callable[[CallCursor], list[Item]]

# Marks of the end of an answer that some servers leave in the text.
ENDS = ("<|eom_id|>", "<|eot_id|>", "<|im_end|>", "<|end_of_text|>", "<|return|>", "</s>")
MAX_PYTHON_CHARS = 64 * KIB
MAX_HEADER_CHARS = 200
_PYTHON_TOKEN = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[\[\](){}'"]""", re.DOTALL)
SEPARATOR = "<｜tool▁sep｜>"


class CallFormat(Struct, frozen=True):
    """`anywhere`: the mark is a special token, so it may follow text in the same line."""

    mark: str
    parse: Parser
    anywhere: bool = False


def _tagged(cursor: CallCursor) -> list[Item]:
    """Between `<tool_call>` tags: JSON (Hermes), functions (Qwen), keys and values (GLM)."""
    cursor.skip_blanks()
    if cursor.is_at("{"):
        found: list[Item] = [cursor.call_of_object(cursor.json())]
    elif cursor.take("<function="):
        found = _function(cursor)
    else:
        found = [_keys_and_values(cursor)]
    cursor.skip_blanks()
    cursor.expect("</tool_call>")
    return found


def _function(cursor: CallCursor) -> list[Item]:
    """`<function=NAME>` with JSON (Llama), or with one tag per parameter (Qwen)."""
    name = cursor.name()
    cursor.expect(">")
    cursor.skip_blanks()
    if cursor.is_at("{"):
        arguments = cursor.json()
        cursor.skip_blanks()
        cursor.expect("</function>")
        return [cursor.call(name, arguments)]
    texts: list[tuple[str, str, bool | None]] = []
    while not cursor.take("</function>"):
        cursor.expect("<parameter=")
        key = cursor.until(">").strip()
        text = _value(cursor, "</parameter>", ("<parameter=", "</function>"))
        texts.append((key, text.removeprefix("\n").removesuffix("\n"), None))
    return [cursor.read_call(name, texts)]


def _value(cursor: CallCursor, end: str, following: tuple[str, ...]) -> str:
    """The text before `end`, and move beyond the blanks after it.

    `end` may be part of the text: then none of the marks that must follow it does.
    """
    start = cursor.at
    while True:
        cursor.until(end)
        text = cursor.text[start : cursor.at - len(end)]
        cursor.skip_blanks()
        if any(cursor.is_at(mark) for mark in following):
            return text


def _keys_and_values(cursor: CallCursor) -> TextCall:
    name = cursor.name()
    cursor.skip_blanks()
    texts: list[tuple[str, str, bool | None]] = []
    while not cursor.is_at("</tool_call>"):
        cursor.expect("<arg_key>")
        key = cursor.until("</arg_key>").strip()
        cursor.skip_blanks()
        cursor.expect("<arg_value>")
        texts.append((key, _value(cursor, "</arg_value>", ("<arg_key>", "</tool_call>")), None))
    return cursor.read_call(name, texts)


def _mistral(cursor: CallCursor) -> list[Item]:
    """`[{"name": ...}]`, or `NAME[ARGS]{...}`."""
    cursor.skip_blanks()
    if cursor.is_at("["):
        value = cursor.json()
        if not isinstance(value, list) or not value:
            raise NotACall
        return [cursor.call_of_object(one) for one in value]
    name = cursor.name()
    if cursor.take("[CALL_ID]"):
        cursor.until("[ARGS]")
    else:
        cursor.take("[ARGS]")
    if not cursor.is_at("{"):
        raise NotACall
    return [cursor.call(name, cursor.json())]


def _objects(cursor: CallCursor) -> list[Item]:
    """JSON objects with `;` between them (Llama), or one list of them."""
    cursor.skip_blanks()
    if cursor.is_at("["):
        value = cursor.json()
        if not isinstance(value, list) or not value:
            raise NotACall
        return [cursor.call_of_object(one) for one in value]
    found: list[Item] = []
    while True:
        cursor.skip_blanks()
        if not cursor.is_at("{"):
            raise NotACall
        found.append(cursor.call_of_object(cursor.json()))
        cursor.skip_blanks()
        if not cursor.rest or not cursor.take(";"):
            return found


def whole_answer(cursor: CallCursor) -> list[Item]:
    """An answer that is nothing but JSON, or a list of calls in Python."""
    cursor.skip_blanks()
    if cursor.text.startswith("[", cursor.at) and not cursor.text[cursor.at + 1 :].lstrip().startswith("{"):
        return _python(cursor)
    return _objects(cursor)


def _python(cursor: CallCursor) -> list[Item]:
    """`[NAME(path="a"), ...]`. The values are literals."""
    cursor.skip_blanks()
    start = cursor.at
    cursor.expect("[")
    cursor.skip_blanks()
    cursor.name()
    cursor.expect("(")
    cursor.at = _closing_bracket(cursor.text, start)
    try:
        tree = ast.parse(cursor.text[start : cursor.at], mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise NotACall from None
    if not isinstance(tree, ast.List):
        raise NotACall
    return [_python_call(cursor, one) for one in tree.elts]


def _closing_bracket(text: str, start: int) -> int:
    """The place behind the bracket that closes the one at `start`; those in strings do not count."""
    if len(text) - start > MAX_PYTHON_CHARS:
        raise NotACall
    depth = 0
    for token in _PYTHON_TOKEN.finditer(text, start):
        if token[0] in ("'", '"'):
            break  # a string that does not end
        depth += 1 if token[0] in "[({" else -1 if token[0] in "])}" else 0
        if depth == 0:
            return token.end()
    raise Incomplete


def _python_call(cursor: CallCursor, node: "ast.expr") -> TextCall:
    if not isinstance(node, ast.Call) or node.args or not isinstance(node.func, ast.Name):
        raise NotACall
    try:
        arguments = {str(one.arg): ast.literal_eval(one.value) for one in node.keywords}
    except ValueError:
        raise NotACall from None
    if any(one.arg is None for one in node.keywords):
        raise NotACall
    return cursor.call(node.func.id, arguments)


def _python_tagged(cursor: CallCursor) -> list[Item]:
    found = _python(cursor)
    cursor.skip_blanks()
    cursor.expect("<|python_end|>")
    return found


def _deepseek(cursor: CallCursor) -> list[Item]:
    """V3 names the kind first and fences the JSON; V3.1 has the name and the JSON."""
    found: list[Item] = []
    cursor.skip_blanks()
    while not cursor.take("<｜tool▁calls▁end｜>"):
        cursor.expect("<｜tool▁call▁begin｜>")
        first = cursor.until(SEPARATOR).strip()
        cursor.skip_blanks()
        if first == "function" and not cursor.is_at("{"):
            name = cursor.registered(cursor.until("\n").strip())
            cursor.expect("```json")
            arguments = cursor.json()
            cursor.skip_blanks()
            cursor.expect("```")
        else:
            name, arguments = cursor.registered(first), cursor.json()
        cursor.skip_blanks()
        cursor.expect("<｜tool▁call▁end｜>")
        found.append(cursor.call(name, arguments))
        cursor.skip_blanks()
    return found


def _kimi(cursor: CallCursor) -> list[Item]:
    found: list[Item] = []
    cursor.skip_blanks()
    while not cursor.take("<|tool_calls_section_end|>"):
        cursor.expect("<|tool_call_begin|>")
        id = cursor.until("<|tool_call_argument_begin|>").strip()
        name = cursor.registered(id.removeprefix("functions.").rpartition(":")[0])
        arguments = cursor.json()
        cursor.skip_blanks()
        cursor.expect("<|tool_call_end|>")
        found.append(cursor.call(name, arguments))
        cursor.skip_blanks()
    return found


def _invokes(prefix: str, block: str) -> Parser:
    """`<invoke name="...">` with parameters (MiniMax), or with a prefix in each tag (DeepSeek V3.2)."""
    begin, end = f'<{prefix}invoke name="', f"</{prefix}invoke>"
    parameter, parameter_end = f'<{prefix}parameter name="', f"</{prefix}parameter>"

    def parse(cursor: CallCursor) -> list[Item]:
        found: list[Item] = []
        cursor.skip_blanks()
        while not cursor.take(f"</{prefix}{block}>"):
            cursor.expect(begin)
            name = cursor.registered(cursor.until('"'))
            cursor.expect(">")
            cursor.skip_blanks()
            texts: list[tuple[str, str, bool | None]] = []
            while not cursor.take(end):
                cursor.expect(parameter)
                key = cursor.until('"')
                kind = cursor.until(">").strip()
                is_plain = {'string="true"': True, 'string="false"': False}.get(kind)
                text = _value(cursor, parameter_end, (parameter, end))
                texts.append((key, text, is_plain))
            found.append(cursor.read_call(name, texts))
            cursor.skip_blanks()
        return found

    return parse


def _harmony(cursor: CallCursor) -> list[Item]:
    """One message: thinking in the channel `analysis`, a call if it has a recipient, else text."""
    try:
        header = cursor.until("<|message|>")
    except Incomplete:
        if len(cursor.rest) > MAX_HEADER_CHARS:
            raise NotACall from None
        raise
    words = header.replace("<|constrain|>", " ").split()
    recipient = next((word.removeprefix("to=") for word in words if word.startswith("to=")), "")
    if recipient:
        name = cursor.registered(recipient.removeprefix("functions."))
        arguments = cursor.json()
        cursor.skip_blanks()
        cursor.expect("<|call|>")
        return [cursor.call(name, arguments)]
    if not words or words[0] not in ("analysis", "commentary", "final"):
        raise NotACall
    ends = [at for mark in ("<|end|>", *ENDS) if (at := cursor.text.find(mark, cursor.at)) >= 0]
    end = min(ends, default=len(cursor.text))  # the last message often lacks its end
    text = cursor.text[cursor.at : end]
    cursor.at = end + len("<|end|>") if cursor.text.startswith("<|end|>", end) else end
    return [Prose(text, words[0] == "analysis")] if text else []


FORMATS = (
    CallFormat("<tool_call>", _tagged),
    CallFormat("<function=", _function),
    CallFormat("[TOOL_CALLS]", _mistral),
    CallFormat("<|python_tag|>", _objects, anywhere=True),
    CallFormat("<|python_start|>", _python_tagged, anywhere=True),
    CallFormat("<｜tool▁calls▁begin｜>", _deepseek, anywhere=True),
    CallFormat("<｜DSML｜function_calls>", _invokes("｜DSML｜", "function_calls"), anywhere=True),
    CallFormat("<|tool_calls_section_begin|>", _kimi, anywhere=True),
    CallFormat("<minimax:tool_call>", _invokes("", "minimax:tool_call")),
    CallFormat("<|channel|>", _harmony, anywhere=True),
    CallFormat("<|start|>assistant<|channel|>", _harmony, anywhere=True),
)


def parse_calls(cursor: CallCursor, *, whole: bool) -> list[Item]:
    """What the rest of an answer consists of, if that is calls and nothing else.

    `whole`: it is the whole answer, so it may be JSON without a mark.
    """
    found: list[Item] = []
    if (
        whole
        and cursor.text.lstrip()[:1] in ("{", "[")
        and not cursor.text.lstrip().startswith("[TOOL_CALLS")
    ):
        found += whole_answer(cursor)
    while True:
        cursor.skip_blanks()
        if not cursor.rest:
            break
        if any(cursor.take(mark) for mark in _matching(cursor, ENDS)):
            continue
        for format in FORMATS:
            if format.mark in _matching(cursor, [format.mark]):
                cursor.expect(format.mark)
                found += format.parse(cursor)
                break
        else:
            raise NotACall
    kinds = [isinstance(one, TextCall) for one in found if isinstance(one, TextCall) or not one.thinking]
    if not found or kinds != sorted(kinds):  # text after a call speaks about it
        raise NotACall
    return found


def _matching(cursor: CallCursor, marks: "tuple[str, ...] | list[str]") -> list[str]:
    """The marks that are next, or may be once the text goes on."""
    rest = cursor.rest
    return [mark for mark in marks if rest.startswith(mark) or mark.startswith(rest)]
