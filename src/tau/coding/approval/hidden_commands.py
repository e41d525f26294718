"""Finds text that a shell runs although it is quoted: once a variable or a name is evaluated again."""

import re
from collections.abc import Iterator

from tau.coding.approval.shell_syntax import ParsedCommand
from tau.coding.approval.shell_words import NotUnderstoodError

# An array element's name in quotes: arithmetic and many builtins run the substitutions in it.
_HIDDEN_SUBSCRIPT = r"\w\[[^\]]*(?:\$|`)"
_HIDDEN_COMMAND = r"\$\(|`|\$\{"
# Constructs that evaluate the value of a variable once more.
_EVALUATION = (
    r"\(\(|\$\[|\[\[|\b(?:let|declare|typeset|local|integer|read|mapfile|readarray|unset)\b|-v\b|\w\["
)
_EXPANDS_TWICE = r"\$\{![\w@*#?-]+[^\w@*[]|\$\{![\w]+\}|@P\}"
# Builtins that must mean what they mean here.
_RESERVED_NAMES = frozenset(
    (
        *("cd", "pushd", "popd", "chdir", "builtin", "command", "eval", "exec", "source", ".", "trap"),
        *("export", "declare", "local", "typeset", "readonly", "unset", "set", "shopt", "test", "[", "read"),
        *("printf", "TRAPEXIT", "TRAPDEBUG", "chpwd", "precmd", "preexec", "command_not_found_handle"),
    )
)


def require_no_hidden_commands(parsed: ParsedCommand) -> None:
    """Raises NotUnderstoodError if there may be commands beside those that were parsed."""
    text = parsed.text
    for name in _functions(parsed):
        if name in _RESERVED_NAMES:
            raise NotUnderstoodError(f"it redefines {name}")
    if ("${!" in text or "@P}" in text) and re.search(_EXPANDS_TWICE, text):
        raise NotUnderstoodError("the value of a variable may run as a command")
    if "'" not in text and "\\" not in text:
        return
    is_evaluated = re.search(_EVALUATION, text) is not None
    for source, value in _literals(parsed):
        is_assigned = re.match(r"\w+\+?=", source) is not None
        if re.search(_HIDDEN_SUBSCRIPT, value) or (
            (is_evaluated or is_assigned) and re.search(_HIDDEN_COMMAND, value)
        ):
            raise NotUnderstoodError("a quoted text may run as a command")


def _functions(parsed: ParsedCommand) -> Iterator[str]:
    """The names of the functions that are defined."""
    if "function_definition" in parsed.constructs:
        nodes = [parsed.tree]
        while nodes:
            node = nodes.pop()
            if node.kind == "function_definition":
                names = [child for child in node.children if child.kind == "word"]
                yield from (parsed.text[name.start : name.end] for name in names)
            nodes += node.children


def _literals(parsed: ParsedCommand) -> Iterator[tuple[str, str]]:
    """The texts that quotes or backslashes protect from the shell: as written, and without the quotes."""
    for command in parsed.commands:
        for word in command.words:
            if re.search(r"['\\]", word.source):
                yield word.source, word.text
        for assignment in command.assignments:
            if re.search(r"['\\]", assignment.value.source):
                yield "x=", assignment.value.text
        for redirection in command.redirections:
            if redirection.body is not None:
                yield "", redirection.body.text
    nodes = [parsed.tree]
    while nodes:
        node = nodes.pop()
        if node.kind in ("raw_string", "ansi_c_string", "test_command"):
            source = parsed.text[node.start : node.end]
            yield "", re.sub(r"\\x24|\\0?44", "$", source)
        nodes += node.children
