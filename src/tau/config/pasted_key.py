"""A key as somebody pastes it: freed from what was copied with it, and looked at before it is stored."""

import os
import re
from collections.abc import Mapping

from tau.ai.auth import is_variable

MIN_CHARS, MAX_CHARS = 8, 4_096

# Where keys are made, and how they begin; what is not here is not doubted.
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


def freed(text: str) -> str:
    """The key without the variable, the word Bearer, the quotes and the blanks that came with it."""
    text = text.strip()
    if not text.startswith("!") and (match := re.fullmatch(_ASSIGNED, text)):
        text = match["value"].strip()
    text = text.rstrip(";,")
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"`":
        text = text[1:-1]
    return text.removeprefix("Bearer ").strip()


def wrong_with(key: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """Why this cannot be a key, or what stands for one, in a sentence."""
    if not key:
        return "Paste the key first."
    if key.startswith("!"):
        return None if key[1:].strip() else "Write the command that prints the key behind the sign !."
    if is_variable(key):
        return None if environ.get(key, "").strip() else f"There is no variable {key} with a key in it."
    if len(key) < MIN_CHARS:
        return f"This is too short for a key: it has {len(key)} characters."
    if len(key) > MAX_CHARS:
        return f"This is too long for a key: it has {len(key):,} characters."
    if not key.isascii() or not key.isprintable() or " " in key:
        return "A key has no blanks and no special letters; copy it again."
    return None


def doubt_about(key: str, provider: str) -> str | None:
    """What is unusual about a key that may all the same be one."""
    beginning = _BEGINNINGS.get(provider, "")
    if key.startswith(("!", beginning)) or is_variable(key):
        return None
    return f"Keys of this provider begin with {beginning}; this one does not."
