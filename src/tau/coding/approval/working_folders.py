"""Finds the folders in which each command of a shell text may run: follows `cd` through the text."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from tau.base.files import typed_path
from tau.coding.approval.shell_syntax import ParsedCommand, ShellCommand
from tau.coding.approval.shell_words import SUBSTITUTIONS, SyntaxNode, known_value
from tau.coding.files.paths import is_folder, real

# The folders that are possible, or None if every folder is.
Folders: TypeAlias = frozenset[Path] | None

MAX_FOLDERS = 16
CHANGERS = frozenset(("cd", "pushd", "popd", "chdir", "z", "j"))
_RUNS_LATER = frozenset(("eval", "trap", "source", "."))
_SUBSHELLS = frozenset(("subshell", *SUBSTITUTIONS))
_LOOPS = frozenset(("for_statement", "while_statement", "c_style_for_statement"))
_BRANCHES = frozenset(("if_statement", "elif_clause", "else_clause", "case_statement", "case_item"))
_SIMPLE = frozenset(
    ("command", "declaration_command", "unset_command", "variable_assignment", "test_command")
)


class _Outcome(Struct, frozen=True):
    """The folders after a command that succeeded, and after one that failed."""

    success: Folders
    failure: Folders

    @property
    def both(self) -> Folders:
        return unite(self.success, self.failure)


def unite(one: Folders, other: Folders) -> Folders:
    if one is None or other is None:
        return None
    both = one | other
    return both if len(both) <= MAX_FOLDERS else None


def find_folders(parsed: ParsedCommand, cwd: Folders) -> dict[int, Folders]:
    """The folders by the start of each command and of each redirection of a compound command."""
    starts = [command.start for command in parsed.commands]
    starts += [redirection.start for redirection in parsed.redirections]
    changers = [command for command in parsed.commands if _may_change(command)]
    has_functions = "function_definition" in parsed.constructs
    if not changers and not has_functions:
        return dict.fromkeys(starts, cwd)
    # A function that changes the folder, and what a builtin runs later or from elsewhere, may run anywhere.
    if changers and (has_functions or any(_name(command) not in CHANGERS for command in changers)):
        return dict.fromkeys(starts)
    walk = _Walk({command.start: command for command in parsed.commands})
    walk.run(parsed.tree, cwd)
    return {start: walk.found.get(start) for start in starts}


def change_folder(command: ShellCommand, folders: Folders) -> _Outcome:
    """The folders after `cd`, `pushd` or `popd`."""
    words = list(command.words[1:])
    while words and words[0].text in ("-L", "-P", "-e", "-@", "--", "-n"):
        words.pop(0)
    target = known_value(words[0]) if len(words) == 1 else None
    if not words and _name(command) == "cd":
        target = str(typed_path("~"))
    assigned = bool(command.assignments)  # CDPATH, HOME
    if target is None or assigned or not target or target[0] in "-+" or _name(command) not in ("cd", "pushd"):
        return _Outcome(None, None)
    if folders is None:
        if not target.startswith("/"):
            return _Outcome(None, None)
        folders = frozenset((Path("/"),))
    reached: set[Path] = set()
    exists = True
    for folder in folders:
        joined = folder / target
        # `cd` goes by the names; `cd -P` resolves links first.
        reached |= {Path(os.path.normpath(joined)), real(joined)}
        exists = exists and is_folder(joined)
    success = unite(frozenset(reached), frozenset())
    return _Outcome(success, frozenset() if exists else folders)


def _name(command: ShellCommand) -> str:
    return (known_value(command.words[0]) or "") if command.words else ""


def _may_change(command: ShellCommand) -> bool:
    """Whether a word may be a `cd`: as the program, or behind `command`, `builtin`, `eval` and the like."""
    name = _name(command)
    if name in CHANGERS:
        return True
    if name in _RUNS_LATER or name in ("command", "builtin"):
        return any(changer in word.text for word in command.words[1:] for changer in ("cd", "pushd", "popd"))
    return False


class _Walk:
    """Runs the tree without running it. The depth of a tree is limited."""

    def __init__(self, commands: Mapping[int, ShellCommand]) -> None:
        self.found: dict[int, Folders] = {}
        self._commands = commands

    def run(self, node: SyntaxNode, folders: Folders) -> _Outcome:
        kind = node.kind
        if kind in _SIMPLE:
            return self._run_simple(node, folders)
        if kind == "list":
            return self._run_list(node, folders)
        if kind in _SUBSHELLS:
            self._run_sequence(node, folders)
            return _Outcome(folders, folders)
        if kind == "negated_command":
            outcome = self._run_sequence(node, folders)
            return _Outcome(outcome.failure, outcome.success)
        if kind == "function_definition":
            self._run_sequence(node, None)  # later, or in a later call
            return _Outcome(folders, folders)
        if kind in _LOOPS or kind in _BRANCHES:
            return self._run_maybe(node, folders, is_loop=kind in _LOOPS)
        if kind == "pipeline":
            return self._run_pipeline(node, folders)
        if kind == "redirected_statement":
            return self._run_redirected(node, folders)
        return self._run_sequence(node, folders)

    def _run_simple(self, node: SyntaxNode, folders: Folders) -> _Outcome:
        self._note(node.start, folders)
        for child in node.children:
            self._run_inner(child, folders)
        command = self._commands.get(node.start)
        if command is not None and _name(command) in CHANGERS:
            return change_folder(command, folders)
        return _Outcome(folders, folders)

    def _run_inner(self, node: SyntaxNode, folders: Folders) -> None:
        """Runs the substitutions in a word."""
        if node.kind in SUBSTITUTIONS:
            self.run(node, folders)
            return
        for child in node.children:
            self._run_inner(child, folders)

    def _run_list(self, node: SyntaxNode, folders: Folders) -> _Outcome:
        first, operator, second = node.children[0], node.children[1].kind, node.children[-1]
        before = self.run(first, folders)
        if operator == "&&":
            after = self.run(second, before.success)
            return _Outcome(after.success, unite(before.failure, after.failure))
        after = self.run(second, before.failure)
        return _Outcome(unite(before.success, after.success), after.failure)

    def _run_maybe(self, node: SyntaxNode, folders: Folders, *, is_loop: bool) -> _Outcome:
        """Each part may run or not, and in a loop, again."""
        while True:
            after = folders
            for child in node.children:
                if child.is_named:
                    after = unite(after, self._run_part(child, after))
            if not is_loop or after == folders:
                return _Outcome(after, after)
            folders = after

    def _run_part(self, node: SyntaxNode, folders: Folders) -> Folders:
        if node.kind in ("word", "variable_name", "concatenation", "string", "array", "simple_expansion"):
            self._run_inner(node, folders)
            return folders
        return self.run(node, folders).both

    def _run_pipeline(self, node: SyntaxNode, folders: Folders) -> _Outcome:
        """Each part runs in a subshell, in zsh all but the last."""
        after = folders
        for child in node.children:
            if child.is_named:
                after = unite(after, self.run(child, folders).both)
        return _Outcome(after, after)

    def _run_redirected(self, node: SyntaxNode, folders: Folders) -> _Outcome:
        for child in node.children[1:]:
            self._note(child.start, folders)
        if node.start not in self._commands or node.children[0].is_named:
            outcome = self.run(node.children[0], folders)
        else:
            outcome = _Outcome(folders, folders)
        if node.start in self._commands:
            self._note(node.start, folders)
        for child in node.children:
            if child.kind == "heredoc_redirect":
                # Statements on the rest of its line, and substitutions in its body.
                outcome = self._run_maybe(child, unite(folders, outcome.both), is_loop=True)
            elif child.kind.endswith("_redirect"):
                self._run_inner(child, folders)
        return outcome

    def _run_sequence(self, node: SyntaxNode, folders: Folders) -> _Outcome:
        outcome = _Outcome(folders, folders)
        children = node.children
        for at, child in enumerate(children):
            if not child.is_named:
                continue
            before = outcome.both
            if child.kind.endswith("_redirect"):
                self._note(child.start, folders)
                self._run_inner(child, folders)
                continue
            outcome = self.run(child, before)
            following = children[at + 1].kind if at + 1 < len(children) else ""
            if following == "&":
                outcome = _Outcome(unite(before, outcome.both), unite(before, outcome.both))
        return outcome

    def _note(self, start: int, folders: Folders) -> None:
        known = self.found.get(start, frozenset())
        self.found[start] = unite(known, folders)
