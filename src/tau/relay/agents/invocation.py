"""What one message to an agent CLI needs, and the command line that carries it."""

import re
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Literal

from msgspec import Struct

MAX_ARGUMENT_BYTES = 120_000  # the kernel takes 128 KiB
IDENTITY = (Path(__file__).parents[1] / "data" / "identity.md").read_text(encoding="utf-8").strip()


class AgentTurn(Struct, frozen=True, kw_only=True):
    """The context of one message: its session and what the agent has been sent before."""

    session_id: str = ""
    is_new: bool = True
    send_system_once: bool = False
    system_sent: bool = False
    identity_prefix: str | None = None  # None for the built-in text
    format: Literal["text", "json"] | None = None
    prompt_via: Literal["stdin", "arg"] = "stdin"
    session_args: tuple[str, ...] | None = None  # instead of those of the kind
    session_args_first: bool = True
    thinking: str = ""


class Invocation(Struct, frozen=True):
    argv: list[str]
    stdin: bytes


def has_flag(argv: Sequence[str], *names: str) -> bool:
    return any(word == name or word.startswith(f"{name}=") for word in argv for name in names)


def flag(argv: Sequence[str], name: str, value: str | None = None, *also: str) -> list[str]:
    """The flag as words to add; nothing if the user wrote it, or one of `also`."""
    if has_flag(argv, name, *also):
        return []
    return [name] if value is None else [name, value]


def program_index(argv: Sequence[str], name: str) -> int:
    """The place of the program: `codex` in `/usr/bin/codex`, `codex.js`, `npx @openai/codex@1`."""
    for index, word in enumerate(argv):
        base = PurePath(word).name.partition("@")[0] or PurePath(word).name
        if re.sub(r"\.(m?js|exe|cmd)$", "", base) in (name, f"{name}-cli", f"{name}-code", f"{name}-ai"):
            return index
    return 0


def without_separator(argv: Sequence[str]) -> list[str]:
    """The command line without a final `--`, which we add where the body follows."""
    words = list(argv)
    return words[:-1] if words[-1:] == ["--"] else words


def with_identity(body: str, turn: AgentTurn) -> str:
    """The prompt: identity prefix and body, as text that no CLI takes for a command."""
    prefix = IDENTITY if turn.identity_prefix is None else turn.identity_prefix
    if turn.send_system_once and turn.system_sent:
        prefix = ""
    text = f"{prefix}\n\n{body}" if prefix else body
    text = text.replace("\0", "\ufffd")
    # "/cost", "!ls" and "@file" at the start are commands in several CLIs, but not after a space.
    return f" {text}" if text[:1] in ("/", "!", "#", "@", "$") else text


def escape_files(text: str) -> str:
    """Claude and gemini replace `@path` anywhere in a prompt by that file, but leave `\\@path` alone."""
    return re.sub(r"(?<![\w\\])\\*@|\\+@", r"\\@", text)


def carry(flags: Sequence[str], prompt: str, turn: AgentTurn, *, dash: bool = False) -> Invocation:
    """Put the prompt on stdin, or behind `--`. With `dash`, `-` is the argument that means stdin."""
    data = prompt.encode("utf-8", "replace")
    if turn.prompt_via == "arg" and len(data) < MAX_ARGUMENT_BYTES:
        return Invocation([*flags, "--", data.decode()], b"")
    return Invocation([*flags, *(["-"] if dash else [])], data)


def add_session(
    argv: Sequence[str], flags: Sequence[str], default: Sequence[str], turn: AgentTurn
) -> list[str]:
    """The command line with flags and session arguments, the configured ones if there are any."""
    session = list(default if turn.session_args is None else turn.session_args)
    if any(has_flag(argv, word) for word in session if word.startswith("--")):
        session = []
    return [*argv, *session, *flags] if turn.session_args_first else [*argv, *flags, *session]
