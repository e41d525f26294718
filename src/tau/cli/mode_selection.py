"""Selects the mode before anything heavy is imported."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from tau.cli.parse import ParsedArgs

    Mode = Literal["print", "json", "json-lines", "console", "interactive"]


def choose_mode(parsed: "ParsedArgs", *, is_interactive: bool, dumb: bool = False) -> "Mode":
    """`is_interactive`: stdin and stdout are a terminal; `dumb`: it cannot move its cursor."""
    if parsed.has("json"):
        return "json-lines"
    if parsed.value("mode") == "json":
        return "json"
    if parsed.has("print") or parsed.has("mode"):
        return "print"
    if parsed.has("plain"):
        return "console"
    if not is_interactive:
        return "print"
    return "console" if dumb else "interactive"
