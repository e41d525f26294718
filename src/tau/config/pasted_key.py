"""Cleans and checks pasted API keys before they are stored."""

import os
import re
from collections.abc import Mapping

from tau.ai.auth import is_variable

MIN_CHARS, MAX_CHARS = 8, 4_096

# Where to create keys, and their prefix; keys of other providers are not checked.
KEY_PAGES = {
    "anthropic": "https://console.anthropic.com/settings/keys",
    "openai": "https://platform.openai.com/api-keys",
    "openrouter": "https://openrouter.ai/keys",
    "deepseek": "https://platform.deepseek.com/api_keys",
    "groq": "https://console.groq.com/keys",
    "mistral": "https://console.mistral.ai/api-keys",
    "xai": "https://console.x.ai",
    "cerebras": "https://cloud.cerebras.ai",
    "together": "https://api.together.ai/settings/api-keys",
    "fireworks": "https://fireworks.ai/account/api-keys",
    "moonshot": "https://platform.moonshot.ai/console/api-keys",
    "google": "https://aistudio.google.com/apikey",
}
_BEGINNINGS = {
    "anthropic": "sk-ant-",
    "openai": "sk-",
    "openrouter": "sk-or-",
    "deepseek": "sk-",
    "groq": "gsk_",
    "xai": "xai-",
    "cerebras": "csk-",
    "google": "AIza",
}
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
    if len(key) < MIN_CHARS:
        return f"Too short for a key: {len(key)} characters."
    if len(key) > MAX_CHARS:
        return f"Too long for a key: {len(key):,} characters."
    if not key.isascii() or not key.isprintable() or " " in key:
        return "Keys have no spaces or special characters; copy it again."
    return None


def key_warning(key: str, provider: str) -> str | None:
    """What looks unusual about a key that may still be valid."""
    beginning = _BEGINNINGS.get(provider, "")
    if key.startswith(("!", beginning)) or is_variable(key):
        return None
    return f"Keys of this provider start with {beginning}; this one does not."
