"""Imports the code of an extension under a unique name, and explains what went wrong."""

import re
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec, SourceFileLoader
from itertools import count
from types import ModuleType
from typing import Any

from tau.base.errors import ExtensionError
from tau.base.version import VERSION
from tau.ext.extensions.extension import Extension, ExtensionSource

_numbers = count(1)
_VERSION_CLAUSE = re.compile(r"(>=|<=|==|!=|~=|<|>)\s*([\w.]+)")
FACTORIES = {"extension": "extension", "hook": "hook", "tool": "tools"}


def import_module(extension: Extension) -> ModuleType:
    """Run the module. Its name is unique, so equal file names do not collide. Raises ExtensionError."""
    source = extension.source
    check_version(source)
    stem = re.sub(r"\W", "_", source.name)
    name = f"tau_ext_{next(_numbers)}_{stem}"
    file = str(source.file)
    module = ModuleType(name)
    module.__file__ = file
    spec = ModuleSpec(name, SourceFileLoader(name, file), origin=file, is_package=source.package is not None)
    module.__spec__, module.__loader__ = spec, spec.loader
    module.__package__ = name
    if source.package is not None:
        spec.submodule_search_locations = [str(source.package)]
        module.__path__ = [str(source.package)]
    extension.modules.append(name)
    sys.modules[name] = module
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # a repository stays as it is
    try:
        code = compile(source.file.read_bytes(), file, "exec", dont_inherit=True)
        exec(code, vars(module))
    except BaseException as error:
        forget_modules(extension)
        raise ExtensionError(_explain(error, extension), source=source.name) from error
    finally:
        sys.dont_write_bytecode = before
    extension.module = module
    return module


def forget_modules(extension: Extension) -> None:
    """Remove its modules, so that they can be freed."""
    for name in extension.modules:
        for key in [key for key in sys.modules if key == name or key.startswith(f"{name}.")]:
            del sys.modules[key]
    extension.modules.clear()


def find_factory(module: ModuleType, source: ExtensionSource) -> Callable[..., Any] | None:
    """The function that registers; None for a plain function as a tool. Raises ExtensionError."""
    wanted = FACTORIES[source.kind]
    factory = getattr(module, wanted, None)
    if callable(factory):
        return factory  # type: ignore[no-any-return]
    if source.kind == "tool":
        if callable(getattr(module, source.file.stem, None)):
            return None
        raise ExtensionError(
            f"{source.file}: define a function {source.file.stem}, or `def tools(tau)`.", source=source.name
        )
    raise ExtensionError(f"{source.file}: define `def {wanted}(tau)`.", source=source.name)


def check_version(source: ExtensionSource) -> None:
    """Raises ExtensionError if it needs another version of tau."""
    if source.requires and not accepts_version(source.requires, VERSION):
        raise ExtensionError(
            f"needs {source.requires}, but this is tau {VERSION}; update one of the two.", source=source.name
        )


def accepts_version(requirement: str, version: str) -> bool:
    """Whether a requirement such as `tau-agent>=1,<2` holds."""
    own = _numbers_of(version)
    for sign, text in _VERSION_CLAUSE.findall(requirement):
        other = _numbers_of(text)
        size = max(len(own), len(other))
        mine, theirs = own + (0,) * (size - len(own)), other + (0,) * (size - len(other))
        checks = {
            ">=": mine >= theirs,
            "<=": mine <= theirs,
            "==": mine == theirs,
            "!=": mine != theirs,
            "<": mine < theirs,
            ">": mine > theirs,
            "~=": mine >= theirs and own[: len(other) - 1] == other[:-1],
        }
        if not checks[sign]:
            return False
    return True


def _numbers_of(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.partition("+")[0]))


def _explain(error: BaseException, extension: Extension) -> str:
    """File, line and a hint."""
    place = f"{extension.source.file}"
    trace = error.__traceback__
    while trace is not None:
        if extension.owns(trace.tb_frame.f_code.co_filename):
            place = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}: {error.msg}."
    hint = ""
    if isinstance(error, ModuleNotFoundError) and error.name:
        top = error.name.partition(".")[0]
        hint = (
            f" tau has no {error.name} anymore or never had; see the page Extensions."
            if top == "tau"
            else f" Install it where tau is: tau plugin install {top}."
        )
    elif isinstance(error, ImportError) and (error.name or "").startswith("tau"):
        hint = " This version of tau does not have that name; see the page Extensions."
    elif isinstance(error, SystemExit):
        return f"{place}: it tried to exit."
    return f"{place}: {type(error).__name__}: {error}.{hint}".replace("..", ".")
