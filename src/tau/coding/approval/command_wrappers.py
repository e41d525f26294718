"""Programs and builtins that run other commands: `env`, `sudo`, `xargs`, `find -exec`, `bash -c`, `eval`."""

import re
from collections.abc import Callable, Sequence

from msgspec import Struct

from tau.coding.approval.shell_words import NotUnderstoodError, ShellWord, known_value
from tau.coding.approval.wrapper_options import LISTERS, OPAQUE, WRAPPERS, WrapperOptions

Words = tuple[ShellWord, ...]

SHELLS = frozenset(("bash", "sh", "zsh", "dash", "ksh", "mksh", "ash", "rbash"))


class Unwrapped(Struct, frozen=True):
    """What a wrapper runs: `commands` as words, `texts` by a shell.

    `folder`, if any, is where it runs them; `later`: in any folder. `everywhere`: on another machine, so that
    no path is inside.
    """

    commands: tuple[Words, ...] = ()
    texts: tuple[ShellWord, ...] = ()
    folder: ShellWord | None = None
    everywhere: bool = False
    shell: str = ""
    later: bool = False


NOTHING = Unwrapped()
UNKNOWN = ShellWord("", "its input", frozenset({"parameter"}))


def unwrap(words: Words, bodies: Sequence[ShellWord]) -> Unwrapped:
    """What a simple command runs besides its program; raises NotUnderstoodError.

    `bodies` are here-documents and here-strings on its input.
    """
    name = program_of(words[0])
    if name in OPAQUE:
        if name in LISTERS and len(words) == 1:
            return NOTHING
        raise NotUnderstoodError(f"{name} may run anything")
    special = _SPECIAL.get(name)
    if special is not None:
        return special(words, bodies)
    if name in SHELLS:
        return _unwrap_shell(words, bodies)
    options = WRAPPERS.get(name)
    if options is None and len(words) > 1:
        options = WRAPPERS.get(f"{name} {words[1].text}")
        words = words[1:]
    return NOTHING if options is None else _unwrap_options(name, words, options)


def program_of(word: ShellWord) -> str:
    """The name of a program without its folder; case does not count, as on some file systems."""
    return (known_value(word) or "").rpartition("/")[2].casefold()


def _literal(word: ShellWord, what: str) -> str:
    value = known_value(word)
    if value is None:
        raise NotUnderstoodError(f"{what} is known only when it runs")
    return value


class _Options:
    """Reads the options in front of a wrapped command."""

    def __init__(self, name: str, words: Words, options: WrapperOptions) -> None:
        self.texts: list[ShellWord] = []
        self.given: dict[str, ShellWord] = {}
        self.at = 1
        self._name, self._words, self._options = name, words, options

    def read(self) -> None:
        while self.at < len(self._words):
            text = _literal(self._words[self.at], f"an option of {self._name}")
            if not text.startswith("-") or text == "-":
                return
            self.at += 1
            if text == "--":
                return
            if text.startswith("--"):
                self._read_long(text[2:])
            else:
                self._read_short(text[1:])

    def _read_long(self, text: str) -> None:
        name, has_value, value = text.partition("=")
        options = self._options
        if name in options.long_values or name in options.text:
            self._store(name, ShellWord(value, value) if has_value else self._next())
        elif name not in options.long_flags:
            raise NotUnderstoodError(f'the option "--{name}" of {self._name} is unknown')

    def _read_short(self, letters: str) -> None:
        options = self._options
        for at, letter in enumerate(letters):
            if letter in options.values or letter in options.text:
                value = letters[at + 1 :]
                self._store(letter, ShellWord(value, value) if value else self._next())
                return
            if letter in options.optional:
                self.given[letter] = ShellWord(letters[at + 1 :], letters[at + 1 :])
                return
            if letter not in options.flags and letter not in options.inert:
                raise NotUnderstoodError(f'the option "-{letter}" of {self._name} is unknown')
            self.given[letter] = ShellWord("", "")

    def _store(self, name: str, value: ShellWord) -> None:
        self.given[name] = value
        if name in self._options.text:
            self.texts.append(value)

    def _next(self) -> ShellWord:
        if self.at >= len(self._words):
            raise NotUnderstoodError(f"an option of {self._name} has no value")
        self.at += 1
        return self._words[self.at - 1]


def _unwrap_options(name: str, words: Words, options: WrapperOptions) -> Unwrapped:
    reader = _Options(name, words, options)
    reader.read()
    if any(letter in reader.given for letter in options.inert):
        return NOTHING
    folder = next((reader.given[each] for each in options.folder if each in reader.given), None)
    rest = words[reader.at :]
    if name in ("su", "script", "mapfile", "readarray"):
        if name in ("su", "script"):
            rest_options = _Options(name, rest, options)  # `su user -c text`
            rest_options.read()
            reader.texts += rest_options.texts
            if not reader.texts:
                raise NotUnderstoodError(f"{name} starts a shell that reads its input")
        return Unwrapped(texts=tuple(reader.texts))
    rest = rest[options.operands :]
    if options.assignments:
        while rest and "=" in _literal(rest[0], f"an argument of {name}"):
            rest = rest[1:]
    if name == "flock" and len(rest) > 1 and rest[0].text in ("-c", "--command"):
        return Unwrapped(texts=(rest[1],))
    if name == "watch" and "x" not in reader.given:
        return Unwrapped(texts=(_join(rest),) if rest else ())
    if name == "ssh":
        return _unwrap_ssh(reader, rest)
    if name == "xargs":
        rest = _with_input(rest, reader)
    return Unwrapped(commands=(rest,) if rest else (), texts=tuple(reader.texts), folder=folder)


def _with_input(words: Words, reader: _Options) -> Words:
    """The command of xargs: what it reads comes last, or instead of a mark."""
    mark = reader.given.get("I") or reader.given.get("i")
    if mark is None:
        return (*words, UNKNOWN) if words else ()
    text = mark.text or "{}"
    return tuple(UNKNOWN if text in word.text else word for word in words)


def _unwrap_ssh(reader: _Options, rest: Words) -> Unwrapped:
    texts = []
    if "o" in reader.given:
        setting = _literal(reader.given["o"], "an option of ssh")
        if re.match(r"\s*\w*(command|askpass|include|provider)\b", setting, re.IGNORECASE):
            raise NotUnderstoodError("an option of ssh runs a command")
    if rest:
        texts.append(_join(rest))
    return Unwrapped(texts=tuple(texts), everywhere=True)


def _join(words: Words) -> ShellWord:
    """The text that a program makes of its words for a shell."""
    text = " ".join(_literal(word, "a command") for word in words)
    return ShellWord(text, text)


def _unwrap_shell(words: Words, bodies: Sequence[ShellWord]) -> Unwrapped:
    name = program_of(words[0])
    at, runs_text = 1, False
    while at < len(words):
        text = _literal(words[at], f"an option of {name}")
        if not re.match(r"[-+].", text):
            break
        at += 1
        if text in ("--", "-"):
            break
        if text in ("--norc", "--noprofile", "--posix", "--login", "--version", "--help", "--no-rcs"):
            continue
        if not re.fullmatch(r"[-+][abefhklmnptuvxBCEHPTcilo]+", text):
            raise NotUnderstoodError(f'the option "{text}" of {name} is unknown')
        if "c" in text:
            runs_text = True
        if text.endswith("o"):
            at += 1
    if runs_text:
        if at >= len(words):
            raise NotUnderstoodError(f"{name} has no command")
        return Unwrapped(texts=(words[at],), shell=name)
    if at < len(words):
        if words[at].expansions & {"process", "command"}:
            raise NotUnderstoodError(f"{name} runs what another command prints")
        return NOTHING  # a script
    if len(words) == 2 and words[1].text in ("--version", "--help"):
        return NOTHING
    if len(bodies) != 1:
        raise NotUnderstoodError(f"{name} reads commands from its input")
    return Unwrapped(texts=(bodies[0],), shell=name)


def _unwrap_eval(words: Words, _: Sequence[ShellWord]) -> Unwrapped:
    rest = words[1:]
    if rest and rest[0].text == "--":
        rest = rest[1:]
    return Unwrapped(texts=(_join(rest),) if rest else ())


def _unwrap_trap(words: Words, _: Sequence[ShellWord]) -> Unwrapped:
    rest = words[1:]
    if rest and rest[0].text == "--":
        rest = rest[1:]
    if not rest or rest[0].text == "-" or rest[0].text in ("-p", "-l", "-P") or len(rest) == 1:
        return NOTHING
    return Unwrapped(texts=(rest[0],), later=True)


def _unwrap_source(words: Words, _: Sequence[ShellWord]) -> Unwrapped:
    if any(word.expansions & {"process", "command"} or word.text.startswith("/dev/") for word in words[1:]):
        raise NotUnderstoodError("it runs what another command prints")
    return NOTHING


def _unwrap_find(words: Words, _: Sequence[ShellWord]) -> Unwrapped:
    """`{}` is a path below one of the start points."""
    commands: list[Words] = []
    starts = find_starts(words[1:])
    at = 1
    while at < len(words):
        if _may_be_action(words, at):
            raise NotUnderstoodError("an argument of find is known only when it runs")
        text = words[at].text
        at += 1
        if text not in ("-exec", "-execdir", "-ok", "-okdir"):
            continue
        start = at
        while at < len(words) and words[at].text != ";" and not _ends_plus(words, start, at):
            at += 1
        if at > start:
            commands += [_with_found_path(words[start:at], each) for each in starts]
    return Unwrapped(commands=tuple(commands))


def _may_be_action(words: Words, at: int) -> bool:
    """Whether a word that is not known may be `-exec` or `-delete`; in quotes, it may be a test's value."""
    word = words[at]
    if known_value(word) is not None or not (word.text[:1] in "-$`{*?[" or word.source[:1] != '"'):
        return False
    is_glob = word.expansions <= {"glob"}
    is_value = word.source.startswith('"') and words[at - 1].text in _FIND_TESTS
    return not is_glob and not is_value


def find_starts(words: Words) -> list[ShellWord]:
    """The folders that `find` begins with."""
    starts: list[ShellWord] = []
    for word in words:
        if re.match(r"-[HLP]$|-O\d|--$", word.text):
            continue
        if word.text.startswith(("-", "(", "!", ",")):
            break
        starts.append(word)
    return starts or [ShellWord(".", ".")]


def _with_found_path(words: Words, start: ShellWord) -> Words:
    found = ShellWord(start.text, f"{start.source} {{}}", start.expansions | {"found"})
    return tuple(found if word.text == "{}" else UNKNOWN if "{}" in word.text else word for word in words)


def _ends_plus(words: Words, start: int, at: int) -> bool:
    return words[at].text == "+" and at > start and words[at - 1].text == "{}"


def _unwrap_fd(words: Words, _: Sequence[ShellWord]) -> Unwrapped:
    for at, word in enumerate(words):
        if re.fullmatch(r"--exec(-batch)?|-[a-zA-Z]*[xX]", word.text):
            return Unwrapped(commands=((*words[at + 1 :], UNKNOWN),))
        if re.match(r"--exec|-[a-zA-Z]*[xX]", word.text):
            raise NotUnderstoodError("fd runs a command")
    return NOTHING


_FIND_TESTS = ("-name", "-iname", "-path", "-ipath", "-newer", "-user", "-group", "-size", "-mtime", "-mmin")
_SPECIAL: dict[str, Callable[[Words, Sequence[ShellWord]], Unwrapped]] = {
    "eval": _unwrap_eval,
    "trap": _unwrap_trap,
    "source": _unwrap_source,
    ".": _unwrap_source,
    "find": _unwrap_find,
    "gfind": _unwrap_find,
    "fd": _unwrap_fd,
    "fdfind": _unwrap_fd,
}
