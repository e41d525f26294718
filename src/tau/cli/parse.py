"""Parses the command line with the table in `flags.py`, and selects the mode."""

from tau.cli.flags import CONFLICTS, FLAGS, LIST, OPTIONAL, SWITCH, Flag, subcommands

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Mode = Literal["print", "json", "json-lines", "rpc", "acp", "serve", "review", "console", "interactive"]


class ParsedArgs:
    """The given flags by name, and the other words in order. With a `problem`, ignore the rest."""

    __slots__ = ("flags", "help", "problem", "subcommand", "values", "words")

    def __init__(self, flags: tuple[Flag, ...] = FLAGS, help: str = "tau --help") -> None:
        self.flags = flags
        self.help = help
        self.subcommand = ""
        self.values: dict[str, list[str]] = {}
        self.words: list[str] = []
        self.problem = ""

    def has(self, name: str) -> bool:
        return name in self.values

    def value(self, name: str) -> str | None:
        """The last value, which wins."""
        given = self.values.get(name)
        return given[-1] if given else None

    def all(self, name: str) -> list[str]:
        return self.values.get(name, [])


def parse(argv: list[str], flags: tuple[Flag, ...] = FLAGS, command: str = "") -> ParsedArgs:
    """The flags of tau, or those of a `command`. A problem is for the user to read."""
    parsed = ParsedArgs(flags, f"tau {command} --help" if command else "tau --help")
    if not command and argv and _is_subcommand(argv[0]):
        parsed.subcommand = argv[0]
        parsed.words = argv[1:]
        return parsed
    rest = list(reversed(argv))
    while rest and not parsed.problem:
        word = rest.pop()
        if word == "--":
            parsed.words.extend(reversed(rest))
            break
        if word.startswith("--"):
            parsed.problem = _long(word, rest, parsed)
        elif word.startswith("-") and word != "-":
            parsed.problem = _shorts(word, rest, parsed)
        else:
            if not parsed.words and not command:
                parsed.problem = _command_typo(word)
            parsed.words.append(word)
    parsed.problem = parsed.problem or _conflict(parsed)
    return parsed


def _is_subcommand(word: str) -> bool:
    return not word.startswith("-") and any(word == command.name for command in subcommands())


def _command_typo(word: str) -> str:
    """Why the first word is rather a command than a message, which would cost money."""
    guess = _nearest(word, [command.name for command in subcommands()]) if word.isalpha() else ""
    if not guess:
        return ""
    advice = f"to send it as a message, put -- before it: tau -- {word}."
    if word == guess:
        return f'"{word}" is a command: put it before all flags; {advice}'
    return f'Unknown command "{word}". Did you mean tau {guess}? If not, {advice}'


def choose_mode(parsed: ParsedArgs, *, is_interactive: bool, dumb: bool = False) -> "Mode":
    """`is_interactive`: stdin and stdout are a terminal; `dumb`: it cannot move its cursor."""
    if parsed.has("json"):
        return "json-lines"
    if parsed.value("mode") == "json":
        return "json"
    if parsed.value("mode") in ("rpc", "rpc-ui"):
        return "rpc"
    if parsed.value("mode") == "acp":
        return "acp"
    if parsed.has("print") or parsed.has("mode"):
        return "print"
    if parsed.has("plain"):
        return "console"
    if not is_interactive:
        return "print"
    return "console" if dumb else "interactive"


def _long(word: str, rest: list[str], parsed: ParsedArgs) -> str:
    name, equals, value = word[2:].partition("=")
    for flag in parsed.flags:
        if flag.name == name:
            return _take(flag, f"--{name}", value if equals else None, rest, parsed)
    names = [flag.name for flag in parsed.flags]
    starts = [known for known in names if len(name) > 2 and known.startswith(name)]
    guess = _nearest(name, names) or (starts[0] if starts else "")
    hint = f"Did you mean --{guess}?" if guess else f"See {parsed.help}."
    return f'Unknown flag "--{name}". {hint}'


def _shorts(word: str, rest: list[str], parsed: ParsedArgs) -> str:
    """`-pc` is `-p -c`; the rest after a flag that takes a value is its value."""
    letters = word[1:]
    for position, letter in enumerate(letters):
        flag = next((flag for flag in parsed.flags if flag.short == letter), None)
        if flag is None:
            guess = next((flag.name for flag in parsed.flags if flag.name == letters), "")
            if guess:
                return f'Unknown flag "{word}". Did you mean --{guess}?'
            return f'Unknown flag "-{letter}". See {parsed.help}.'
        if flag.kind == SWITCH:
            _add(flag, "", parsed)
            continue
        attached = letters[position + 1 :]
        return _take(flag, f"-{letter}", attached.removeprefix("=") if attached else None, rest, parsed)
    return ""


def _take(flag: Flag, written: str, value: str | None, rest: list[str], parsed: ParsedArgs) -> str:
    if flag.kind == SWITCH:
        if value is not None:
            return f"{written} takes no value."
    elif value is None and rest and not _is_flag(rest[-1]):
        value = rest.pop()
    elif value is None and rest and flag.kind != OPTIONAL:
        return f'{written} needs a value, not "{rest[-1]}"; write {written}={rest[-1]} if you mean it.'
    if value is None and flag.kind not in (SWITCH, OPTIONAL):
        return f"{written} needs a value: {written} {flag.metavar}."
    if flag.choices and value not in flag.choices:
        return f'{written} cannot be "{value}"; use one of {", ".join(flag.choices)}.'
    if not value and flag.kind not in (SWITCH, OPTIONAL):
        return f"{written} needs a non-empty value: {written} {flag.metavar}."
    _add(flag, value or "", parsed)
    return ""


def _add(flag: Flag, value: str, parsed: ParsedArgs) -> None:
    if flag.kind == LIST:
        parsed.values.setdefault(flag.name, []).append(value)
    else:
        parsed.values[flag.name] = [value]


def _conflict(parsed: ParsedArgs) -> str:
    for one, other in CONFLICTS:
        if parsed.has(one) and parsed.has(other):
            return f"--{one} and --{other} cannot be used together."
    return ""


def _is_flag(word: str) -> bool:
    """`-` is stdin, and `- be brief` is text."""
    return word.startswith("-") and len(word) > 1 and not any(letter.isspace() for letter in word)


def _nearest(name: str, names: list[str]) -> str:
    """The closest name, if at most a third of its letters differ."""
    best = min(names, key=lambda known: (_distance(name, known), abs(len(known) - len(name))))
    return best if _distance(name, best) <= max(1, len(name) // 3) else ""


def _distance(one: str, other: str) -> int:
    """Edit distance with swaps of adjacent letters."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, last, row = row, before, [i]
        for j, b in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]
