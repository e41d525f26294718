"""Parses shell text into its simple commands, to decide whether it may run without asking.

The bash grammar does the parsing. Text is not understood if the grammar reports an error, produces a node
unknown here, or is known to read the text differently than bash does. That costs a question, no more.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise

from msgspec import Struct

from tau.backends.syntax.trees import is_broken, parse
from tau.coding.approval.shell_words import (
    EXPANSIONS,
    METACHARACTERS,
    SUBSTITUTIONS,
    WORD_NODES,
    Expansion,
    NotUnderstoodError,
    ShellWord,
    Span,
    SyntaxNode,
    WordReader,
    copy_tree,
    parts_of,
    require,
)

MAX_CHARS = 10_000
MAX_NESTING = 60


class Assignment(Struct, frozen=True):
    """`NAME=value` before a command; the name of an array element includes the subscript."""

    name: str
    value: ShellWord


class Redirection(Struct, frozen=True):
    """`2>file`. The target is a file, a descriptor, a here-string or the delimiter of a here-document.

    `body` is the text of a here-document; `start` is where the redirection begins in the text.
    """

    operator: str
    descriptor: str
    target: ShellWord
    source: str
    body: ShellWord | None = None
    start: int = 0


class ShellCommand(Struct, frozen=True):
    """A program and its arguments. Assignments and redirections may also occur without any words.

    `start` is where the command begins in the text.
    """

    words: tuple[ShellWord, ...]
    assignments: tuple[Assignment, ...] = ()
    redirections: tuple[Redirection, ...] = ()
    start: int = 0

    @property
    def name(self) -> ShellWord | None:
        return self.words[0] if self.words else None

    @property
    def arguments(self) -> tuple[ShellWord, ...]:
        return self.words[1:]


class ParsedCommand(Struct, frozen=True):
    """Every simple command of a text in order, including those in compound commands and substitutions.

    `constructs` are the grammar's names for everything beyond pipelines and lists of simple commands.
    `redirections` are those of compound commands. `tree` is the whole syntax tree.
    """

    text: str
    commands: tuple[ShellCommand, ...]
    tree: SyntaxNode
    constructs: frozenset[str] = frozenset()
    redirections: tuple[Redirection, ...] = ()


# Words that the grammar takes for the name of a command where it does not expect them.
_RESERVED = frozenset(
    (
        *("if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "in"),
        *("function", "select", "time", "coproc", "{", "}", "!", "[[", "]]"),
    )
)
# Reserved words of zsh, and builtins of all shells that take the rest for a command.
_PREFIXES = frozenset(("repeat", "foreach", "end", "always", "nocorrect", "noglob", "-", "exec", "builtin"))
_HARMLESS_REDIRECTION = r"[12]?(?:>&[12]|(?:>>|>|<) */dev/null)"

_SEQUENCES = frozenset(("program", "list", "pipeline", "negated_command", "variable_assignments"))
_COMPOUNDS = frozenset(
    (
        *("subshell", "compound_statement", "if_statement", "elif_clause", "else_clause", "while_statement"),
        *("for_statement", "do_group", "case_statement", "case_item", "function_definition"),
    )
)
_REDIRECTIONS = frozenset(("file_redirect", "herestring_redirect", "heredoc_redirect"))
_PLAIN = frozenset(("program", "list", "pipeline", ";", "&&", "||", "|"))
_TOKENS = _RESERVED | {"$(", "<(", ">(", "(", ")", "`", "&", "|&", "\n"}
_CASE_ENDS = frozenset((";;", ";&", ";;&"))
_CONTINUATION = r"(?<=[^\s\\])[ \t]+\\\n[ \t]*(?=[^\s\\])"
_DASH_BEFORE_HEREDOC = r"\A([^'\"\\<#`$()\n]*[ \t])-(?=[ \t]*<<)"
# One command whose words mean themselves in every shell: no grammar reads it differently.
_PLAIN_TEXT = r"[A-Za-z./_][A-Za-z0-9./_-]*(?: [A-Za-z0-9./_:,@%+-]+)*"
_DECLARATIONS = frozenset(("declare", "typeset", "export", "readonly", "local", "unset", "unsetenv"))
_NUMBER = r"-?(?:0x)?[0-9]+"
_DELIMITER = r"(?P<quote>['\"]?)(?P<word>\w+)(?P=quote)"


def parse_command(text: str) -> ParsedCommand | None:
    """The commands of a text, or None if it is not understood."""
    try:
        return read_command(text)
    except NotUnderstoodError:
        return None


@lru_cache(maxsize=16)  # the sandbox, the rules and the policy read the same text, some more than once
def read_command(text: str) -> ParsedCommand:
    """The commands of a text; raises NotUnderstoodError with the reason."""
    if len(text) > MAX_CHARS:
        raise NotUnderstoodError(f"it is longer than {MAX_CHARS:,} characters")
    if (plain := _read_plain(text)) is not None:
        return plain
    return _read_with_grammar(text)


def _read_plain(text: str) -> ParsedCommand | None:
    """A single command of plain words as the grammar, which is slow to load, reads it; None for others."""
    if re.fullmatch(_PLAIN_TEXT, text) is None:
        return None
    words = text.split(" ")
    if words[0] in _RESERVED or words[0] in _DECLARATIONS:
        return None
    nodes: list[SyntaxNode] = []
    at = 0
    for word in words:
        kind = "number" if re.fullmatch(_NUMBER, word) else "word"
        nodes.append(SyntaxNode(kind, at, at + len(word), True, ()))
        at += len(word) + 1
    name = SyntaxNode("command_name", 0, len(words[0]), True, (nodes[0],))
    command = SyntaxNode("command", 0, len(text), True, (name, *nodes[1:]))
    tree = SyntaxNode("program", 0, len(text), True, (command,))
    return ParsedCommand(text, (ShellCommand(tuple(ShellWord(word, word) for word in words)),), tree)


def _read_with_grammar(text: str) -> ParsedCommand:
    # Control characters, and characters that are blanks to the grammar, but not to a shell.
    if not re.sub(r"[\n\t]", " ", text).isprintable():
        raise NotUnderstoodError("it contains invisible characters")
    # The grammar ends a word at every line continuation.
    if "\\\n" in re.sub(_CONTINUATION, "", text):
        raise NotUnderstoodError("a line continues inside a word")
    if _nesting(text) > MAX_NESTING:  # which the parser may need minutes for
        raise NotUnderstoodError("it is nested too deeply")
    # The grammar loses the dash of `python - <<E`.
    text = re.sub(_DASH_BEFORE_HEREDOC, r"\1'-'", text, count=1)
    root = parse(text, "bash")
    if root is None or is_broken(root):
        raise NotUnderstoodError("it has a syntax error")
    return _Reader(text).read(copy_tree(root))


def _nesting(text: str) -> int:
    """How deep parentheses are nested, quoted or not."""
    depth = deepest = 0
    for sign in re.findall(r"[()]", text):
        depth = depth + 1 if sign == "(" else max(depth - 1, 0)
        deepest = max(deepest, depth)
    return deepest


def plain_commands(text: str) -> list[tuple[ShellWord, ...]] | None:
    """The words of each command of a list or a pipeline; None for anything more complex.

    Every shell reads the same words, except that globs and tildes are not expanded here.
    """
    parsed = parse_command(text) if text.isprintable() else None
    if parsed is None or parsed.constructs or not all(map(_is_plain, parsed.commands)):
        return None
    return [command.words for command in parsed.commands] or None


def simple_commands(text: str) -> list[tuple[str, ...]] | None:
    """The texts of the words of plain commands."""
    found = plain_commands(text)
    return None if found is None else [tuple(word.text for word in words) for words in found]


def _is_plain(command: ShellCommand) -> bool:
    name = command.name
    return (
        name is not None
        and name.text == name.source
        and name.expansions <= {"tilde"}
        and "=" not in name.text
        and name.text not in _PREFIXES
        and not command.assignments
        and all(word.expansions <= {"glob", "tilde"} for word in command.words)
        and all(re.fullmatch(_HARMLESS_REDIRECTION, each.source) for each in command.redirections)
    )


class _Command:
    """A simple command while it is read. The grammar scatters its words over its redirections."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.parts: list[SyntaxNode] = []
        self.spans: list[Span] = []  # of assignments and redirections
        self.assignments: list[Assignment] = []
        self.redirections: list[Redirection] = []


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._words = WordReader(text, self._read_substitution)
        self._commands: list[_Command] = []
        self._constructs: set[str] = set()
        self._redirections: list[Redirection] = []

    def read(self, root: SyntaxNode) -> ParsedCommand:
        self._check_gaps(root, (0, len(self._text)))
        self._read_statement(root)
        found: list[tuple[int, ShellCommand]] = []
        for command in self._commands:  # which grows: words contain substitutions
            words = self._read_words(command)
            simple = ShellCommand(
                tuple(words), tuple(command.assignments), tuple(command.redirections), command.start
            )
            found.append((command.start, simple))
        found.sort(key=lambda each: each[0])
        return ParsedCommand(
            self._text,
            tuple(simple for _, simple in found),
            root,
            frozenset(self._constructs),
            tuple(self._redirections),
        )

    def _read_statement(self, node: SyntaxNode) -> _Command | None:
        """Returns the simple command that a redirection after the statement belongs to, if any."""
        match node.kind:
            case "command" | "declaration_command" | "unset_command" | "variable_assignment":
                return self._read_simple(node)
            case "test_command":
                return self._read_test(node)
            case "redirected_statement":
                return self._read_redirected(node)
            case "comment":
                require(self._is_after(node, METACHARACTERS))
                self._constructs.add("comment")
                return None
            case kind:
                require(kind in _SEQUENCES or kind in _COMPOUNDS)
                last = self._read_children(node)
                return last if kind in _SEQUENCES else None

    def _read_children(self, node: SyntaxNode) -> _Command | None:
        kind, children = node.kind, node.children
        if kind not in _PLAIN:
            self._constructs.add(kind)
        if children and children[0].kind == "((":
            self._words.check_expression(node)
            return None
        # To bash, `((` may be arithmetic.
        require(kind not in ("subshell", "command_substitution") or "((" not in self._source(node)[:3])
        last = None
        for child in children:
            name = child.kind
            if name in WORD_NODES:
                self._words.read(list(parts_of(child)))
            elif name in _REDIRECTIONS:
                self._read_redirection(child, self._add_command(child) if kind in SUBSTITUTIONS else None)
            elif child.is_named:
                last = self._read_statement(child)
            elif name not in _PLAIN:
                self._read_token(child, kind)
        return last

    def _read_substitution(self, node: SyntaxNode) -> None:
        # In backquotes, some backslashes count twice.
        source = self._source(node).lstrip()
        require(source[0] != "`" or "\\" not in source)
        self._check_gaps(node, (node.start, node.end))
        self._read_children(node)

    def _read_token(self, node: SyntaxNode, parent: str) -> None:
        token = node.kind
        require(token in _TOKENS or (token in _CASE_ENDS and parent == "case_item"))
        if token in ("&", "|&"):
            self._constructs.add(token)
        elif token in ("{", "!"):
            require(self._text[node.end].isspace())

    def _add_command(self, node: SyntaxNode) -> _Command:
        command = _Command(node.start)
        self._commands.append(command)
        return command

    def _read_simple(self, node: SyntaxNode) -> _Command:
        command = self._add_command(node)
        kind = node.kind
        for child in [node] if kind == "variable_assignment" else node.children:
            if child.kind in _REDIRECTIONS:
                self._read_redirection(child, command)
            elif child.kind == "variable_assignment" and kind != "declaration_command":
                command.assignments.append(self._read_assignment(child))
                command.spans.append((child.start, child.end))
            else:
                command.parts += parts_of(child)
        return command

    def _read_assignment(self, node: SyntaxNode) -> Assignment:
        target, operator, *value = node.children
        name = self._source(target)
        require(bool(re.fullmatch(r"[A-Za-z_]\w*(\[[^][]+\])?", name, re.ASCII)))
        require(target.end == operator.start)
        self._words.check_expression(target)
        words = _adjacent(part for each in value for part in parts_of(each))
        if not words:
            return Assignment(name, ShellWord("", ""))
        require(len(words) == 1 and words[0][0].start == operator.end)
        return Assignment(name, self._words.read(words[0]))

    def _read_test(self, node: SyntaxNode) -> _Command | None:
        if node.children[0].kind == "[":
            command = self._add_command(node)
            command.parts += (part for child in node.children for part in parts_of(child))
            return command
        self._constructs.add("test_command")
        self._words.check_expression(node)
        return None

    def _read_redirected(self, node: SyntaxNode) -> _Command | None:
        children = node.children
        if children[0].kind in _REDIRECTIONS:
            last: _Command | None = self._add_command(node)
        else:
            last, children = self._read_statement(children[0]), children[1:]
        for child in children:
            require(child.kind in _REDIRECTIONS)
            self._read_redirection(child, last)
            # A here-document includes the rest of the line.
            require(child.kind != "heredoc_redirect" or child.end == node.end)
        return last

    def _read_redirection(self, node: SyntaxNode, command: _Command | None) -> None:
        """`command` is None for a compound command."""
        operator, *rest = node.children
        descriptor = ""
        if operator.kind == "file_descriptor":
            descriptor = self._source(operator)
            require(descriptor.isdecimal() and rest[0].start == operator.end)
            operator, *rest = rest
        if not self._is_after(node, METACHARACTERS + "`"):
            require(not descriptor and self._text[node.start - 1] != "}")
            self._constructs.add("glued_redirect")
        sign, end = self._source(operator), operator.end
        body = None
        if node.kind == "heredoc_redirect":
            target, body, end = self._read_heredoc(sign, rest, command)
        elif sign.endswith("-"):
            require(not rest and self._text[end : end + 1] in METACHARACTERS)
            sign, target = sign[:-1], ShellWord("-", "-")
        else:
            require(bool(rest))
            first, *more = _adjacent(part for child in rest for part in parts_of(child))
            target, end = self._words.read(first), first[-1].end
            # Bash reads `>& -x` as `>&- x`.
            require(not (sign in (">&", "<&") and target.source.startswith("-")))
            require(command is not None or not more)
            if command is not None:
                command.parts += (part for parts in more for part in parts)
        source = self._text[node.start : end]
        found = Redirection(sign, descriptor, target, source, body, node.start)
        if command is None:
            self._redirections.append(found)
        else:
            command.redirections.append(found)
            command.spans.append((node.start, end))

    def _read_heredoc(
        self, sign: str, nodes: list[SyntaxNode], command: _Command | None
    ) -> tuple[ShellWord, ShellWord, int]:
        opening, closing = nodes[0], nodes[-1]
        written = re.fullmatch(_DELIMITER, self._source(opening))
        body = self._text.find("\n", opening.end) + 1
        if written is None or closing.kind != "heredoc_end" or not body:
            raise NotUnderstoodError
        rest = self._text[closing.end :].partition("\n")[0]
        lines = (self._text[body : closing.end] + rest).split("\n")
        if sign == "<<-":
            lines = [line.lstrip("\t") for line in lines]
        require(lines[-1] == written["word"] and lines.count(written["word"]) == 1)
        content = "\n".join(lines[:-1])
        expansions: set[Expansion] = set()
        for node in nodes[1:-1]:
            kind = node.kind
            if kind == "heredoc_body":
                if not written["quote"]:
                    require("\\\n" not in self._text[body : closing.end])
                    content = self._words.read_quoted(node, (body, closing.start), expansions)
                continue
            require(node.end <= body)
            if kind in _REDIRECTIONS:
                self._read_redirection(node, command)
            elif kind not in ("&&", "||"):
                self._read_statement(node)
                command = None  # what follows belongs to another one
        delimiter = ShellWord(written["word"], self._source(opening))
        return delimiter, ShellWord(content, content, frozenset(expansions)), opening.end

    def _read_words(self, command: _Command) -> list[ShellWord]:
        spans = [(part.start, part.end, True) for part in command.parts]
        spans += [(start, end, False) for start, end in command.spans]
        for (_, end, was_word), (start, _, is_word) in pairwise(sorted(spans)):
            require("\n" not in self._text[end:start].replace("\\\n", ""))
            require(start > end or was_word or not is_word)
        words = [self._words.read(parts) for parts in _adjacent(command.parts)]
        if words and words[0].source == "time":
            # It is a program after `|`, or after an assignment or a redirection.
            is_program = re.search(r"(?<!\|)\|&?\s*$", self._text[: command.start])
            require(not is_program and min(spans)[2])
            self._constructs.add("time")
            del words[: 2 if [word.source for word in words[1:2]] == ["-p"] else 1]
            require(bool(words) and "=" not in words[0].text and words[0].text[:1] != "-")
        require(not words or words[0].source not in _RESERVED)
        return words

    def _check_gaps(self, node: SyntaxNode, span: Span) -> None:
        """Between tokens there are only blanks. The grammar skips more, and makes it part of a token."""
        at, end = span
        for leaf in _leaves(node):
            self._check_blank(at, leaf.start)
            require(leaf.is_named or self._source(leaf).strip() == leaf.kind.strip())
            at = leaf.end
        self._check_blank(at, end)

    def _check_blank(self, start: int, end: int) -> None:
        require(not self._text[start:end].replace("\\\n", "").strip())

    def _source(self, node: SyntaxNode) -> str:
        return self._text[node.start : node.end]

    def _is_after(self, node: SyntaxNode, characters: str) -> bool:
        before = self._text[: node.start]
        return not before or (before[-1] in characters and before[-2:-1] != "\\")


def _leaves(node: SyntaxNode) -> Iterator[SyntaxNode]:
    """Stops at expansions and quotes, which have separate rules."""
    for child in node.children:
        if not child.children or child.kind in EXPANSIONS or child.kind in ("string", "heredoc_body"):
            yield child
        else:
            yield from _leaves(child)


def _adjacent(parts: Iterable[SyntaxNode]) -> list[list[SyntaxNode]]:
    """Words: the parts that have nothing between them."""
    words: list[list[SyntaxNode]] = []
    for part in sorted(parts, key=lambda part: part.start):
        if words and part.start == words[-1][-1].end:
            words[-1].append(part)
        else:
            words.append([part])
    return words
