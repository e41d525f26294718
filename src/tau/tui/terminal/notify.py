"""Desktop notifications, sent through the terminal."""

from binascii import b2a_base64

from tau.tui.terminal.capabilities import NotifyProtocol
from tau.tui.terminal.sequences import printable

_MAX_TITLE_CHARS = 100
_MAX_BODY_CHARS = 500


def notification(title: str, body: str, protocol: NotifyProtocol) -> str:
    """Return the sequence that shows a notification; "" if notifications are off."""
    title, body = printable(title, _MAX_TITLE_CHARS), printable(body, _MAX_BODY_CHARS)
    match protocol:
        case "osc99":
            if not body:
                return f"\x1b]99;i=tau:e=1;{_encoded(title)}\x1b\\"
            first = f"\x1b]99;i=tau:e=1:d=0;{_encoded(title)}\x1b\\"
            return f"{first}\x1b]99;i=tau:e=1:p=body;{_encoded(body)}\x1b\\"
        case "osc9":
            text = f"{title}: {body}" if title and body else title or body
            # Windows Terminal and ConEmu parse a leading number as a command.
            return f"\x1b]9;{' ' if text[:1].isdigit() else ''}{text}\x1b\\"
        case "bell":
            return "\x07"
        case "off":
            return ""


def _encoded(text: str) -> str:
    return b2a_base64(text.encode("utf-8", "replace"), newline=False).decode("ascii")
