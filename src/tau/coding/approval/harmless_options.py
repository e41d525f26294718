"""Which arguments a `*` in an allow pattern covers: those that a list per program calls harmless.

Harmless arguments neither run a program nor name a file to write, nor make the program read its settings from
elsewhere. `harmless_options.json` lists them; a program that is not in it gets exact patterns only.
"""

import re
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

_DATA = Path(__file__).with_name("harmless_options.json")
# Operands that stay in the folder: no absolute path, no `..`, and no `@FILE` with more arguments.
_OPERANDS = {
    "any": r"(?s).*",
    "none": r"(?!)",
    "inside": r"(?s)(?![/~@])(?!(?:.*/)?\.\.(?:/|$)).*",
    "names": r"\w[\w.-]*(?:/\w[\w.-]*)*",
}


class HarmlessArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """The harmless arguments of a program or a subcommand.

    `flags` are letters; `values` are letters with a value, `optional` those whose value is never the next
    word. `long` options may end with "=" (a value, perhaps the next word) or "?" (perhaps a value, never the
    next word). `single` are whole words behind one dash or two. `operands` is "any", "none", "inside",
    "names" or a regular expression. `counts`: a number is an option, as in `head -5`. `anything`: there are
    no options.
    """

    flags: str = ""
    values: str = ""
    optional: str = ""
    long: tuple[str, ...] = ()
    single: tuple[str, ...] = ()
    operands: str = "none"
    counts: bool = False
    anything: bool = False
    subcommands: dict[str, "HarmlessArguments"] = {}


@cache
def harmless_programs() -> dict[str, HarmlessArguments]:
    """The lists by program."""
    return msgspec.json.decode(_DATA.read_bytes(), type=dict[str, HarmlessArguments])


class ArgumentCheck:
    """Checks the words of a command from left to right.

    `fixed` says whether the pattern spells a word out; the others must be harmless.
    """

    def __init__(self, program: str) -> None:
        self._list = harmless_programs().get(program)
        self._takes_value = False
        self._follows_unlisted = False
        self.is_at_subcommand = False  # whether the last word was one

    @property
    def is_open(self) -> bool:
        """Whether there are harmless arguments that could come next."""
        return self._list is not None

    @property
    def needs_subcommand(self) -> bool:
        return self._list is not None and bool(self._list.subcommands)

    def accepts(self, word: str, *, fixed: bool, is_glob: bool = False) -> bool:
        if fixed:
            self._read_fixed(word)
            return True
        listed = self._list
        self.is_at_subcommand = False
        if listed is None or self._follows_unlisted:
            return False
        takes_value, self._takes_value = self._takes_value, False
        if listed.anything:
            return True
        if word.startswith("-") and len(word) > 1:
            return not is_glob and self._accepts_option(word, listed)
        if takes_value and not is_glob:
            return True
        if listed.subcommands:
            self._list = None if is_glob else listed.subcommands.get(word)
            self.is_at_subcommand = self._list is not None
            return self.is_at_subcommand
        return re.fullmatch(_OPERANDS.get(listed.operands, listed.operands), word) is not None

    def _read_fixed(self, word: str) -> None:
        """The value of an option that is not listed must be spelled out too."""
        listed = self._list
        self._follows_unlisted = False
        if listed is None or listed.anything:
            return
        if word.startswith("-") and len(word) > 1:
            if not self._accepts_option(word, listed):
                self._follows_unlisted = "=" not in word
                if listed.subcommands:  # which of the words is the subcommand?
                    self._list = None
        elif self._takes_value:
            self._takes_value = False
        elif listed.subcommands:
            self._list = listed.subcommands.get(word)

    def _accepts_option(self, word: str, listed: HarmlessArguments) -> bool:
        if word == "--":
            return not listed.subcommands
        name, equals, _ = word.lstrip("-").partition("=")
        dashes = len(word) - len(word.lstrip("-"))
        if dashes <= 2 and self._is_listed(name, equals, listed.single):
            return True
        if dashes == 2:
            return self._is_listed(name, equals, listed.long)
        if listed.counts and re.fullmatch(r"-\d+", word):
            return True
        return dashes == 1 and self._accepts_letters(word[1:], listed)

    def _is_listed(self, name: str, equals: str, names: tuple[str, ...]) -> bool:
        if f"{name}=" in names:
            self._takes_value = not equals
            return True
        return f"{name}?" in names or (name in names and not equals and name[-1:] not in ("=", "?"))

    def _accepts_letters(self, letters: str, listed: HarmlessArguments) -> bool:
        for at, letter in enumerate(letters):
            if letter in listed.values:
                self._takes_value = at == len(letters) - 1
                return True
            if letter in listed.optional:
                return True
            if letter not in listed.flags:
                return False
        return True
