"""A mypy plugin: what `late("module")` returns has the type of that module, as if it were imported."""

import re
from collections.abc import Callable
from pathlib import Path

from mypy.checker import TypeChecker
from mypy.nodes import GDEF, CallExpr, ImportFrom, MypyFile, StrExpr, SymbolTableNode
from mypy.plugin import DynamicClassDefContext, FunctionContext, Plugin
from mypy.types import Type

LATE = "tau.base.late.late"
CALL = re.compile(r'\blate\("([\w.]+)"\)')
PRIORITY = 20  # mypy's own priority for imports inside functions, which also run later than the module


class LatePlugin(Plugin):
    def get_additional_deps(self, file: MypyFile) -> list[tuple[int, str, int]]:
        """Make mypy load what the file imports late. Reads the text, since a worker's tree is still empty."""
        if not any(isinstance(line, ImportFrom) and line.id == "tau.base.late" for line in file.imports):
            return []
        lines = Path(file.path).read_text(encoding="utf-8").splitlines()
        return [
            (PRIORITY, name, number) for number, line in enumerate(lines, 1) for name in CALL.findall(line)
        ]

    def get_dynamic_class_hook(self, fullname: str) -> Callable[[DynamicClassDefContext], None] | None:
        return bind_name if fullname == LATE else None

    def get_function_hook(self, fullname: str) -> Callable[[FunctionContext], Type] | None:
        return module_type if fullname == LATE else None


def bind_name(context: DynamicClassDefContext) -> None:
    """Bind `name` in `name = late("module")` to the module, as `import module as name` does."""
    api = context.api
    module = api.modules.get(module_name(context.call))
    bound = api.modules[api.cur_mod_id].names.get(context.name)
    if module is not None and (bound is None or bound.node is not module):
        api.add_symbol_table_node(context.name, SymbolTableNode(GDEF, module))


def module_type(context: FunctionContext) -> Type:
    """Give other calls, as in a table, the module's type, so that mypy can check it against a Protocol."""
    checker = context.api
    assert isinstance(checker, TypeChecker)
    assert isinstance(context.context, CallExpr)
    module = checker.modules.get(module_name(context.context))
    return context.default_return_type if module is None else checker.expr_checker.module_type(module)


def module_name(call: CallExpr) -> str:
    match call.args:
        case [StrExpr(value=name)]:
            return name
    return ""


def plugin(version: str) -> type[Plugin]:
    return LatePlugin
