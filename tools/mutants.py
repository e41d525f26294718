"""The mutants of Python source: every small change that a good test suite should notice.

Skips what no test, or every test, can notice: annotations, docstrings, texts, log calls, assertions,
`__repr__`, `__all__`, and struct flags that only make them faster or stricter.
"""

import ast
import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

SWAPS: dict[type[ast.AST], Any] = {
    ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(),
    ast.Lt: ast.LtE(),
    ast.LtE: ast.Lt(),
    ast.Gt: ast.GtE(),
    ast.GtE: ast.Gt(),
    ast.Is: ast.IsNot(),
    ast.IsNot: ast.Is(),
    ast.In: ast.NotIn(),
    ast.NotIn: ast.In(),
    ast.And: ast.Or(),
    ast.Or: ast.And(),
    ast.Add: ast.Sub(),
    ast.Sub: ast.Add(),
    ast.Mult: ast.FloorDiv(),
    ast.Div: ast.Mult(),
    ast.FloorDiv: ast.Mult(),
    ast.Mod: ast.Mult(),
    ast.LShift: ast.RShift(),
    ast.RShift: ast.LShift(),
    ast.BitAnd: ast.BitOr(),
    ast.BitOr: ast.BitAnd(),
}
NAME_SWAPS = {"min": "max", "max": "min", "any": "all", "all": "any"}
UNSEEN_KEYWORDS = {"frozen", "gc", "cache_hash", "kw_only"}
UNSEEN_TESTS = re.compile(r"(\w+\.)?TYPE_CHECKING|__name__ ==|sys\.(platform|version_info)")
UNSEEN_CALLS = re.compile(r"log(_file)?\.(debug|info|warning|error)|super\(\)|assert_never")
TYPE_NAME = re.compile(r"(\w+\.)*[A-Z]\w*[a-z]\w*|None|str|int|bool|float|bytes|list|dict|tuple")
SHOWN_CHARS = 60

Function = ast.FunctionDef | ast.AsyncFunctionDef
Spot = ast.expr | ast.stmt


@dataclass(frozen=True)
class Mutant:
    """One change: the bytes from `start` to `end` of the file become `text`."""

    path: str
    scope: str
    line: int
    start: int
    end: int
    old: str
    text: str
    occurrence: int = 0

    @property
    def change(self) -> str:
        return f"{shorten(self.old)}  ->  {shorten(self.text)}"

    def rank(self, seed: int) -> bytes:
        """Return its place in the draw: a hash of the function and of what changes in it, not of the line."""
        name = (seed, self.path, self.scope, self.old, self.text, self.occurrence)
        return hashlib.sha256(repr(name).encode()).digest()

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.text.encode() + source[self.end :]


def find_mutants(root: Path, paths: Sequence[str]) -> list[Mutant]:
    """Return all mutants of the files and folders at `paths`, in source order."""
    files = {file for path in paths for file in [root / path, *(root / path).rglob("*.py")] if file.is_file()}
    mutants: list[Mutant] = []
    for file in sorted(files):
        source = file.read_bytes()
        finder = Finder(file.relative_to(root).as_posix(), source)
        finder.visit(ast.parse(source))
        seen: Counter[tuple[str, str, str]] = Counter()
        for mutant in sorted(finder.mutants, key=lambda mutant: (mutant.start, mutant.end, mutant.text)):
            same = (mutant.scope, mutant.old, mutant.text)
            mutants.append(replace(mutant, occurrence=seen[same]))
            seen[same] += 1
    return mutants


class Finder(ast.NodeVisitor):
    """Collects the mutants of one file."""

    def __init__(self, path: str, source: bytes) -> None:
        self.path = path
        self.source = source
        self.line_starts = [0, *(match.end() for match in re.finditer(b"\n", source))]
        self.scopes: list[Function | ast.ClassDef] = []
        self.mutants: set[Mutant] = set()

    def replace(self, first: Spot, new: str | ast.expr, last: Spot | None = None) -> None:
        """Add a mutant that replaces the nodes from `first` to `last` with `new`."""
        end_line, end_column = (last or first).end_lineno, (last or first).end_col_offset
        assert end_line is not None and end_column is not None
        start = self.line_starts[first.lineno - 1] + first.col_offset
        end = self.line_starts[end_line - 1] + end_column
        text = new if isinstance(new, str) else f"({ast.unparse(new)})"
        old = " ".join(self.source[start:end].decode().split())
        if old != text:
            scope = ".".join(node.name for node in self.scopes)
            self.mutants.add(Mutant(self.path, scope, first.lineno, start, end, old, text))

    def force(self, condition: ast.expr, *values: bool) -> None:
        for value in values:
            self.replace(condition, str(value))
        self.visit(condition)

    def swap_operator(self, node: ast.BoolOp | ast.BinOp) -> None:
        swapped = copy(node)
        swapped.op = SWAPS[type(node.op)]
        self.replace(node, swapped)

    def visit_each(self, *parts: Sequence[ast.AST]) -> None:
        for part in parts:
            for node in part:
                self.visit(node)

    def visit_If(self, node: ast.If) -> None:
        if UNSEEN_TESTS.match(ast.unparse(node.test)):
            return
        self.force(node.test, True, False)
        self.visit_each(node.body, node.orelse)

    def visit_While(self, node: ast.While) -> None:
        if not isinstance(node.test, ast.Constant):
            self.force(node.test, False)
        self.visit_each(node.body, node.orelse)

    def visit_Expr(self, node: ast.Expr) -> None:
        value = node.value.value if isinstance(node.value, ast.Await) else node.value
        if isinstance(value, ast.Call) and not UNSEEN_CALLS.match(ast.unparse(value.func)):
            self.replace(node, "pass")
            self.visit(value)

    def visit_Assign(self, node: ast.Assign) -> None:
        target = node.targets[0]
        if ast.unparse(target) in ("__all__", "__slots__"):
            return
        in_init = bool(self.scopes) and self.scopes[-1].name == "__init__"
        if isinstance(target, ast.Attribute | ast.Subscript) and not in_init:
            self.replace(node, "pass")
        self.visit(node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.replace(node, "pass")
        if isinstance(node.op, ast.Add | ast.Sub) and not is_sequence(node.value):
            swapped = copy(node)
            swapped.op = SWAPS[type(node.op)]
            self.replace(node, ast.unparse(swapped))
        self.visit(node.value)

    def visit_Delete(self, node: ast.Delete) -> None:
        self.replace(node, "pass")

    def visit_Break(self, node: ast.Break) -> None:
        self.replace(node, "continue")

    def visit_Continue(self, node: ast.Continue) -> None:
        self.replace(node, "break")

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is None:
            return
        function = self.scopes[-1]
        assert not isinstance(function, ast.ClassDef)
        if function.returns is not None and ast.unparse(function.returns) == "bool":
            if not is_negated_elsewhere(node.value):
                self.replace(node.value, ast.UnaryOp(ast.Not(), node.value))
        else:
            self.replace(node.value, "None")
        self.visit(node.value)

    def visit_Try(self, node: ast.Try) -> None:
        self.visit_each(node.body, node.orelse, node.finalbody)
        for handler in node.handlers:
            self.replace(handler.body[0], "raise", handler.body[-1])
            self.visit_each(handler.body)
        if node.finalbody:
            self.replace(node.finalbody[0], "pass", node.finalbody[-1])

    def visit_Assert(self, node: ast.Assert) -> None:
        pass

    def visit_FunctionDef(self, node: Function) -> None:
        if node.name == "__repr__":
            return
        self.scopes.append(node)
        self.visit_each(node.args.defaults, [value for value in node.args.kw_defaults if value], node.body)
        self.scopes.pop()

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit(node.body)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        seen = [keyword.value for keyword in node.keywords if keyword.arg not in UNSEEN_KEYWORDS]
        self.scopes.append(node)
        self.visit_each(seen, node.body)
        self.scopes.pop()

    def visit_Compare(self, node: ast.Compare) -> None:
        for index, operator in enumerate(node.ops):
            swapped = copy(node)
            swapped.ops = [*node.ops]
            swapped.ops[index] = SWAPS[type(operator)]
            self.replace(node, swapped)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        self.swap_operator(node)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        is_union = isinstance(node.op, ast.BitOr) and TYPE_NAME.fullmatch(ast.unparse(node.right))
        if (
            type(node.op) in SWAPS
            and not is_union
            and not is_sequence(node.left)
            and not is_sequence(node.right)
        ):
            self.swap_operator(node)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self.replace(node, node.operand)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.force(node.test, True, False)
        self.visit_each([node.body, node.orelse])

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for condition in node.ifs:
            self.force(condition, True)
        self.visit(node.iter)

    def visit_match_case(self, node: ast.match_case) -> None:
        if node.guard is not None:
            self.force(node.guard, True, False)
        self.visit_each(node.body)

    def visit_Call(self, node: ast.Call) -> None:
        name = ast.unparse(node.func)
        if name in NAME_SWAPS:
            self.replace(node.func, NAME_SWAPS[name])
        if name in ("suppress", "contextlib.suppress"):
            self.replace(node, f"{name}()")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self.replace(node, str(not node.value))
        elif isinstance(node.value, int):
            self.replace(node, str(node.value + 1))

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        pass  # before Python 3.12, its parts have no correct positions


def is_sequence(node: ast.expr) -> bool:
    """Whether it is a string or list literal, which cannot be subtracted or multiplied."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str | bytes)
    return isinstance(node, ast.JoinedStr | ast.List | ast.Tuple | ast.ListComp)


def is_negated_elsewhere(node: ast.expr) -> bool:
    """Whether the mutants of the expression itself include its negation."""
    if isinstance(node, ast.Compare):
        return len(node.ops) == 1 and not isinstance(node.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE)
    return isinstance(node, ast.Constant) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))


def shorten(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 3] + "..."
