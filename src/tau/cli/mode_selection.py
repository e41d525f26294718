"""Which face a command line asks for; asked before anything heavy is imported."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from tau.cli.parse import ParsedArgs

    Face = Literal["print", "json", "json-lines", "console", "interactive"]


def choose_mode(parsed: "ParsedArgs", *, talks: bool, dumb: bool = False) -> "Face":
    """`talks`: somebody sits at a terminal and sees what is written; `dumb`: it cannot move its cursor."""
    if parsed.has("json"):
        return "json-lines"
    if parsed.value("mode") == "json":
        return "json"
    if parsed.has("print") or parsed.has("mode"):
        return "print"
    if parsed.has("plain"):
        return "console"
    if not talks:
        return "print"
    return "console" if dumb else "interactive"
