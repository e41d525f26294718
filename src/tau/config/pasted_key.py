"""Cleans and checks pasted API keys before they are stored."""

import os
import re
from collections.abc import Mapping

from tau.ai.auth import CLAUDE_PLANS, CLAUDE_TOKEN, is_variable

MIN_CHARS, MAX_CHARS = 8, 4_096

_ASSIGNED = r"""(?:export\s+|set\s+)?[A-Za-z_]\w*\s*[=:]\s*(?P<value>\S.*)"""


def clean_pasted_key(text: str) -> str:
    """Strip the variable name, `Bearer`, quotes and spaces copied with a key."""
    text = text.strip()
    if not text.startswith("!") and (match := re.fullmatch(_ASSIGNED, text)):
        text = match["value"].strip()
    text = text.rstrip(";,")
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"`":
        text = text[1:-1]
    return text.removeprefix("Bearer ").strip()


def key_problem(key: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """Why this cannot be a key or a reference to one, in one sentence."""
    if not key:
        return "Paste the key first."
    if key.startswith("!"):
        return None if key[1:].strip() else "After !, write the command that prints the key."
    if is_variable(key):
        return None if environ.get(key, "").strip() else f"The variable {key} is not set."
    if key.startswith(CLAUDE_TOKEN):
        return CLAUDE_PLANS
    if len(key) < MIN_CHARS:
        return f"Too short for a key: {len(key)} characters."
    if len(key) > MAX_CHARS:
        return f"Too long for a key: {len(key):,} characters."
    if not key.isascii() or not key.isprintable() or " " in key:
        return "Keys have no spaces or special characters; copy it again."
    return None


def key_warning(key: str, prefix: str) -> str | None:
    """What looks unusual about a key that may still be valid."""
    if key.startswith(("!", prefix)) or is_variable(key):
        return None
    return f"Keys of this provider start with {prefix}; this one does not."
