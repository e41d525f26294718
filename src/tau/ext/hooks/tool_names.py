"""Tools and their arguments under the names that hooks written for Claude Code expect, and back."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from tau.agent.hooks import ToolQuestion
from tau.base.late import late

regex = late("regex")

NAMES: Mapping[str, tuple[str, ...]] = {
    "read": ("Read",),
    "write": ("Write",),
    "edit": ("Edit", "MultiEdit"),
    "ast_edit": ("Edit", "MultiEdit"),
    "bash": ("Bash",),
    "ssh": ("Bash",),
    "find": ("Glob", "LS"),
    "search": ("Grep",),
    "ast_grep": ("Grep",),
    "task": ("Task", "Agent"),
    "todo": ("TodoWrite",),
    "ask": ("AskUserQuestion",),
    "web_search": ("WebSearch",),
}
"""The first one is sent; a matcher may use any of them, or the tool's own name."""
FIELDS: Mapping[str, Mapping[str, str]] = {
    "read": {"path": "file_path"},
    "write": {"path": "file_path"},
    "edit": {"path": "file_path", "old_text": "old_string", "new_text": "new_string"},
    "bash": {"async": "run_in_background"},
    "search": {"paths": "path", "i": "-i"},
    "find": {"paths": "pattern"},
}
FILE_TOOLS = ("write", "edit", "ast_edit")
MAX_FILES = 20  # of a call; each is shown to the hooks
MATCH_S = 0.05
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_|-, ")


def tool_names(tool: str) -> tuple[str, ...]:
    """The names a matcher may use, the one that hooks get first."""
    return (*NAMES.get(tool, ()), tool)


def matcher_fault(matcher: str) -> str:
    """Why a matcher cannot be used, "" if it can."""
    if matcher in ("", "*") or _PLAIN.issuperset(matcher):
        return ""
    if len(matcher) > 1_000:
        return "The matcher is longer than 1,000 characters."
    try:
        regex.compile(matcher)
    except (regex.error, ValueError, OverflowError, RecursionError) as error:
        return f"The matcher is not a valid pattern: {error}."
    return ""


def matches(matcher: str, subjects: Iterable[str]) -> bool:
    """Whether a matcher, a list such as `Edit|Write` or a pattern, means one of these. A slow one does."""
    if matcher in ("", "*"):
        return True
    if _PLAIN.issuperset(matcher):
        wanted = {name.strip() for name in matcher.replace(",", "|").split("|")}
        return not wanted.isdisjoint(subjects)
    try:
        pattern = regex.compile(matcher)
        return any(pattern.search(subject[:200], timeout=MATCH_S) for subject in subjects)
    except TimeoutError:
        return True


def meets(condition: str, names: Iterable[str], values: Iterable[str]) -> bool:
    """Whether a call meets a condition such as `Bash(git *)`; one that is not understood is met."""
    name, parenthesis, rest = condition.partition("(")
    if not condition or (parenthesis and not rest.endswith(")")):
        return True
    pattern = rest[:-1].replace(":*", "*")
    is_met = not pattern or any(fnmatchcase(value, pattern) for value in values)
    return name.strip() in names and is_met


def hook_inputs(question: ToolQuestion) -> list[dict[str, object]]:
    """The call as hooks get it: once for each file that it writes, so that none goes unseen."""
    tool, effects = question.tool, question.effects
    params, _ = tool.decode(question.call.arguments)
    fields = FIELDS.get(tool.name, {})
    shown = {fields.get(name, name): value for name, value in _builtins(params).items()}
    if isinstance(shown.get("timeout"), (int, float)) and "Bash" in NAMES.get(tool.name, ()):
        shown["timeout"] = shown["timeout"] * 1000
    if tool.name == "edit" and "new_string" not in shown:  # a patch, whose text guards may want to see
        texts = [value for value in shown.values() if isinstance(value, str)]
        shown |= {"old_string": "", "new_string": "\n".join(texts)}
    if tool.name in FILE_TOOLS:
        return [{**shown, "file_path": str(path)} for path in effects.writes[: MAX_FILES + 1]] or [shown]
    if tool.name == "read" and len(effects.reads) == 1:
        shown["file_path"] = str(effects.reads[0])
    if tool.name == "search" and isinstance(shown.get("path"), list):
        shown["path"] = " ".join(shown["path"])
    return [shown]


def changed_arguments(
    question: ToolQuestion, sent: Mapping[str, object], updated: Mapping[str, Any]
) -> dict[str, object] | None:
    """The call's arguments with what a hook changed; None if it changed nothing. Raises ValueError."""
    tool = question.tool
    back = {shown: own for own, shown in FIELDS.get(tool.name, {}).items()}
    changes = {name: value for name, value in updated.items() if name not in sent or sent[name] != value}
    if not changes:
        return None
    params, _ = tool.decode(question.call.arguments)
    known = _builtins(params)
    if tool.name in FILE_TOOLS and "file_path" in changes and len(question.effects.writes) != 1:
        raise ValueError("the call writes several files")
    if unknown := [name for name in changes if back.get(name, name) not in known]:
        raise ValueError(f"the tool {tool.name} has no {', '.join(unknown)}")
    for name, value in changes.items():
        if name == "timeout" and "Bash" in NAMES.get(tool.name, ()) and isinstance(value, (int, float)):
            value = max(1, round(value / 1000))
        if isinstance(known[back.get(name, name)], list) and isinstance(value, str):
            value = [value]
        known[back.get(name, name)] = value
    return {name: value for name, value in known.items() if value is not None}


def main_values(shown: Mapping[str, object], cwd: Path) -> tuple[str, ...]:
    """What a condition is about: the command, or the file with its path in either form."""
    for name in ("command", "file_path", "pattern", "url", "query"):
        if isinstance(value := shown.get(name), str):
            inner = value.removeprefix(f"{cwd}/")
            return (value, inner) if name == "file_path" else (value,)
    return ()


def _builtins(params: Any) -> dict[str, Any]:
    fields: dict[str, Any] = to_builtins(params, enc_hook=str)
    return fields
