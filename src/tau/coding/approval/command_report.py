"""Reports what a shell text would run, and what it would change outside the workspace, without running it."""

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from tau.base.late import late
from tau.coding.approval.changed_files import find_changes, find_redirections
from tau.coding.approval.command_options import find_texts
from tau.coding.approval.command_wrappers import SHELLS, Words, program_of, unwrap
from tau.coding.approval.hidden_commands import require_no_hidden_commands
from tau.coding.approval.outside_changes import Change, Globber
from tau.coding.approval.shell_syntax import ShellCommand, read_command
from tau.coding.approval.shell_words import NotUnderstoodError, ShellWord, known_value
from tau.coding.approval.working_folders import Folders, find_folders
from tau.coding.files.paths import is_folder, real

stores = late("tau.coding.files.credential_stores")

MAX_COMMANDS = 500
MAX_TEXTS = 50
MAX_CHANGES = 300
MAX_WRAPPED = 50  # commands in one another, or in one `find`
_ASSIGNING = frozenset(("export", "declare", "typeset", "local", "readonly"))
_NAMING = frozenset(("let", "declare", "typeset", "local", "integer", "unset", "read", "getopts"))
# Variables that change what the rest of the session's commands mean, or that name a file with commands.
_MEANINGS = frozenset(
    (
        *("HOME", "CDPATH", "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PROMPT_COMMAND", "PS0", "PS1"),
        *("PS2", "PS4", "GIT_DIR", "GIT_WORK_TREE", "PWD", "OLDPWD", "BASH_CMDS", "BASH_ALIASES", "FPATH"),
        *("ZDOTDIR", "GIT_CONFIG", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS"),
        *("GIT_EXEC_PATH", "functions", "aliases", "galiases", "saliases", "dis_functions", "commands"),
        *("fpath", "TAR_OPTIONS"),
    )
)
_LASTING_ONLY = frozenset(("HOME", "CDPATH", "PWD", "OLDPWD"))  # else they concern one program only
# Variables whose value is a command.
_COMMANDS = frozenset(
    (
        *("GIT_EXTERNAL_DIFF", "GIT_SSH_COMMAND", "GIT_SSH", "GIT_PAGER", "GIT_EDITOR"),
        *("GIT_SEQUENCE_EDITOR", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_PROXY_COMMAND", "PAGER", "MANPAGER"),
        *("EDITOR", "VISUAL", "FCEDIT", "LESSOPEN", "LESSCLOSE", "BROWSER", "RSYNC_RSH", "CVS_RSH"),
        *("SUDO_ASKPASS", "NULLCMD", "READNULLCMD"),
    )
)


class SimpleCommand(Struct, frozen=True, kw_only=True):
    """A command that runs: `name` is unquoted, and "" if it cannot be known.

    A word is None where its value is only known when it runs.
    """

    name: str
    words: tuple[str | None, ...] = ()


class OutsideChange(Struct, frozen=True, kw_only=True):
    """`action` is a verb, `target` the real path if it is known, else what is written."""

    action: str
    target: str


class CommandReport(Struct, frozen=True, kw_only=True):
    """`problem` says why the text is not understood; such a text needs approval."""

    commands: tuple[SimpleCommand, ...] = ()
    problem: str = ""
    outside: tuple[OutsideChange, ...] = ()


def report_command(
    text: str, cwd: Path, roots: Sequence[Path], *, shell: str = "bash", shared: Sequence[Path] = ()
) -> CommandReport:
    """Report on a text that `shell` would run in `cwd`; `roots` are the folders of the workspace.

    `cwd` is the folder of the shell when the text runs, not where the session began. In `shared` folders, a
    sandbox keeps files from being changed, but not their permissions and times; nor does it hide names.
    """
    return _Report(cwd, roots, shared).read(text, shell)


class _Text(Struct, frozen=True):
    """`everywhere`: it runs on another machine, where no path is inside the workspace."""

    text: str
    folders: Folders
    shell: str
    everywhere: bool = False


class _Report:
    def __init__(self, cwd: Path, roots: Sequence[Path], shared: Sequence[Path]) -> None:
        self._cwd = cwd
        self._given_roots = roots
        self._shared = shared
        self._commands: list[SimpleCommand] = []
        self._problems: list[str] = []
        self._outside: dict[OutsideChange, None] = {}
        self._texts: list[_Text] = []
        self._globber = Globber()
        self._changes = 0

    @cached_property
    def _roots(self) -> list[Path]:
        """Looked up for a command that changes files."""
        return [real(root) for root in self._given_roots]

    def read(self, text: str, shell: str) -> CommandReport:
        self._texts.append(_Text(text, frozenset((self._cwd,)), shell))
        for count, each in enumerate(self._texts):  # which grows
            if count >= MAX_TEXTS or len(self._commands) >= MAX_COMMANDS:
                self._problems.append("it runs too many commands")
                break
            try:
                self._read_text(each)
            except NotUnderstoodError as error:
                self._problems.append(str(error))
        return CommandReport(
            commands=tuple(self._commands),
            problem=self._problems[0] if self._problems else "",
            outside=tuple(self._outside),
        )

    def _read_text(self, text: _Text) -> None:
        if text.shell not in SHELLS:
            raise NotUnderstoodError(f"{text.shell} is not a shell that tau can read")
        parsed = read_command(text.text)
        require_no_hidden_commands(parsed)
        folders = find_folders(parsed, text.folders)
        for redirection in parsed.redirections:
            self._add_changes(find_redirections((redirection,)), folders[redirection.start], text)
        for command in parsed.commands:
            if len(self._commands) >= MAX_COMMANDS:
                raise NotUnderstoodError("it runs too many commands")
            self._read_command(command, folders[command.start], text)

    def _read_command(self, command: ShellCommand, folders: Folders, text: _Text) -> None:
        self._add_changes(find_redirections(command.redirections), folders, text)
        self._check_assignments(command, folders, text)
        if not command.words:
            return
        bodies = [
            redirection.body or redirection.target
            for redirection in command.redirections
            if redirection.operator in ("<<", "<<-", "<<<") and redirection.descriptor in ("", "0")
        ]
        self._read_words(command.words, bodies, folders, text)

    def _read_words(self, words: Words, bodies: Sequence[ShellWord], folders: Folders, text: _Text) -> None:
        pending = [(words, folders)]
        for count, (some, where) in enumerate(pending):  # which grows
            if count >= MAX_WRAPPED:
                raise NotUnderstoodError("it runs too many commands")
            name = known_value(some[0])
            self._commands.append(SimpleCommand(name=name or "", words=tuple(map(known_value, some[1:]))))
            if not name:
                self._problems.append("a program is known only when it runs")
                continue
            self._check_name(name, some, where, text)
            self._add_changes(find_changes(program_of(some[0]), some), where, text)
            if self._shared:
                self._add_listed(some, where)
            try:
                inner = unwrap(some, bodies if count == 0 else ())
                texts = find_texts(program_of(some[0]), some[1:])
            except NotUnderstoodError as error:
                self._problems.append(str(error))
                continue
            if inner.later:
                where = None
            elif inner.folder is not None:
                where = _join_folder(where, inner.folder)
            pending += [(each, where) for each in inner.commands if each]
            for each in (*inner.texts, *texts):
                value = known_value(each)
                if value is None:
                    self._problems.append("a command is known only when it runs")
                else:
                    shell = inner.shell or (text.shell if program_of(some[0]) in _SAME_SHELL else "sh")
                    self._texts.append(_Text(value, where, shell, text.everywhere or inner.everywhere))

    def _check_name(self, name: str, words: Words, where: Folders, text: _Text) -> None:
        if name.startswith("=") or (text.shell == "zsh" and any("zsh" in word.expansions for word in words)):
            self._problems.append("it has a form that only zsh expands")
        unknown = [word for word in words[1:] if known_value(word) is None]
        if any(not re.match(r"-|\w+\+?=", word.text) for word in unknown) and (
            name in _NAMING or (name in ("printf", "test", "[") and any(word.text == "-v" for word in words))
        ):
            self._problems.append(f"{name} may run a command inside a name")
        if text.shell == "zsh" and name == "print" and any(word.text.startswith("-") for word in words):
            self._problems.append("print may run a command")  # -P with substitutions, -z, -v
        if name in _ASSIGNING or program_of(words[0]) in ("env", "sudo"):
            for word in words[1:]:
                if re.match(r"\w+\+?=|BASH_FUNC", word.text):
                    self._check_variable(word, where, text, is_lasting=name in _ASSIGNING)

    def _check_assignments(self, command: ShellCommand, where: Folders, text: _Text) -> None:
        for each in command.assignments:
            value = each.value
            word = ShellWord(f"{each.name}={value.text}", value.source, value.expansions)
            self._check_variable(word, where, text, is_lasting=not command.words)

    def _check_variable(self, word: ShellWord, where: Folders, text: _Text, *, is_lasting: bool) -> None:
        """Reads an assignment, here as one word."""
        name = re.split(r"[+=[%]", word.text)[0]
        if name.startswith("BASH_FUNC_") or (name in _MEANINGS and (is_lasting or name not in _LASTING_ONLY)):
            self._problems.append(f"it changes {name}")
        elif name in _COMMANDS:
            value = known_value(word)
            if value is None:
                self._problems.append(f"the value of {name} is known only when it runs")
            else:
                self._texts.append(_Text(value.partition("=")[2], where, "sh", text.everywhere))

    def _add_changes(self, changes: Iterable[Change], folders: Folders, text: _Text) -> None:
        for change in changes:
            self._changes += 1
            if self._changes > MAX_CHANGES:
                raise NotUnderstoodError("it changes too many files")
            roots = [] if text.everywhere else self._roots
            if not change.of_inode and not text.everywhere:
                roots = [*roots, *map(real, self._shared)]
            for target in change.find_outside(folders, roots, self._globber):
                self._outside[OutsideChange(action=change.action, target=target)] = None

    def _add_listed(self, words: Words, folders: Folders) -> None:
        """Credential stores whose names a command would list."""
        for word in words[1:]:
            if home := re.match(r"\$HOME\b|\$\{HOME\}", word.text):
                word = ShellWord(f"{Path.home()}{word.text[home.end() :]}", word.source)
            is_glob = "glob" in word.expansions
            for target in Change("list", word).find_outside(folders, (), self._globber):
                if stores.is_credential_store(Path(target)) and (is_glob or is_folder(Path(target))):
                    self._outside[OutsideChange(action="list the names in", target=target)] = None


_SAME_SHELL = frozenset(("eval", "trap", "mapfile", "readarray"))


def _join_folder(folders: Folders, word: ShellWord) -> Folders:
    target = known_value(word)
    if target is None or (folders is None and not target.startswith("/")):
        return None
    return frozenset(folder / target for folder in folders or (Path("/"),))
