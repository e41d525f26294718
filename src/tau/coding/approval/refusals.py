"""What becomes of a call that may not run: a sentence for the model, details for people."""

from typing import Literal

import msgspec
from msgspec import Struct

from tau.agent.hooks import Refusal
from tau.base.text import reveal, sentence

_Why = Literal["declined", "unanswered", "denied", "unasked"]
_SHOWN_CHARS = 2_000
_NO_OTHER_WAY = "Do not reach the same effect another way"


class RefusedCall(Struct, frozen=True, rename="camel", kw_only=True):
    """The details of a call that did not run: the user declined or did not answer, a rule or the mode forbids
    it, or nobody could be asked. `comment` is the user's message, or the reason.
    """

    refusal: _Why
    comment: str = ""


def declined(action: str, comment: str = "") -> Refusal:
    """The user declined."""
    comment = reveal(comment.strip())
    advice = f"They say: {comment}" if comment else f"{_NO_OTHER_WAY}; ask what they want instead."
    text = f"The user declined this call, which would {shorten(action)}. {advice}"
    return Refusal(text, RefusedCall(refusal="declined", comment=comment))


def unanswered(action: str) -> Refusal:
    text = f"The user did not answer whether to {shorten(action)}, so this call did not run."
    return Refusal(text, RefusedCall(refusal="unanswered"))


def denied(reason: str) -> Refusal:
    """A rule or the mode forbids it."""
    reason = shorten(reason)
    text = f"This call is not allowed: {reason}. {_NO_OTHER_WAY}; tell the user if you need it."
    return Refusal(text, RefusedCall(refusal="denied", comment=reason))


def planning(text: str) -> Refusal:
    """Plan mode forbids it."""
    return Refusal(text, RefusedCall(refusal="denied", comment="plan mode is on"))


def unasked(action: str, notes: str, patterns: tuple[str, ...]) -> Refusal:
    """Nobody can be asked in this mode."""
    quoted = " and ".join(f'"{pattern}"' for pattern in patterns)
    rule = f"add {quoted} to tools.allow in their settings, or " if patterns else ""
    text = (
        f"This call needs the user's approval to {shorten(action)}. {notes}This mode cannot ask, so it did "
        f"not run. To allow it, the user can {rule}choose another mode with --approval-mode. Continue "
        "without it, or tell the user what you need."
    )
    return Refusal(text, RefusedCall(refusal="unasked", comment=shorten(action)))


def refused_call(details: object) -> RefusedCall | None:
    """The details as such, wherever they come from; None for those of a call that ran."""
    if isinstance(details, RefusedCall):
        return details
    if not isinstance(details, dict) or "refusal" not in details:
        return None
    try:
        return msgspec.convert(details, RefusedCall)
    except msgspec.ValidationError:
        return None


def tell_user(refused: RefusedCall) -> str:
    """The same for the user, in a few words."""
    match refused.refusal:
        case "declined":
            return f"You declined: {refused.comment}" if refused.comment else "You declined."
        case "unanswered":
            return "Not run: no answer."
        case "denied":
            return sentence(f"Not allowed: {refused.comment}")
        case "unasked":
            return sentence(f"Not run, since nobody can be asked to {refused.comment}")


def shorten(text: str) -> str:
    """A model knows its call: the middle of a long one is left out."""
    text = reveal(text)
    if len(text) <= _SHOWN_CHARS:
        return text
    half = _SHOWN_CHARS // 2
    return f"{text[:half]} … [{len(text) - 2 * half} characters not shown] … {text[-half:]}"
