"""Files, functions and classes stay small enough to be read in one go; the package has a limit too."""

import ast

from tests.shape.source_tree import classes, functions, nodes, other_sources, package_sources

FILE_LINES = 600
FUNCTION_LINES = 60
CLASS_METHODS = 20
CODE_LINES = 140_000  # of the package, without blank lines, comments and docstrings


def test_no_file_is_too_long() -> None:
    lengths = {source.where: len(source.text.splitlines()) for source in package_sources() + other_sources()}
    assert lengths
    assert not {where: lines for where, lines in lengths.items() if lines > FILE_LINES}


def test_no_function_is_too_long() -> None:
    long = {}
    for source in package_sources():
        for function in functions(source.tree):
            lines = (function.end_lineno or function.lineno) - function.lineno + 1
            if lines > FUNCTION_LINES:
                long[f"{source.at(function)} {function.name}"] = lines
    assert not long


def test_no_class_has_too_many_methods() -> None:
    wide = {}
    for source in package_sources():
        for cls in classes(source.tree):
            methods = {node.name for node in functions(cls) if node in cls.body}  # overloads count once
            if len(methods) > CLASS_METHODS:
                wide[f"{source.at(cls)} {cls.name}"] = len(methods)
    assert not wide


def test_package_is_not_too_large() -> None:
    assert sum(code_lines(source.text, source.tree) for source in package_sources()) <= CODE_LINES


def test_blank_lines_comments_and_docstrings_do_not_count() -> None:
    text = '"""Doc.\n\nMore."""\n\n# why\ndef f() -> str:\n    """Doc."""\n    return """a\nb"""  # c\n'
    assert code_lines(text, ast.parse(text)) == 3


def code_lines(text: str, tree: ast.Module) -> int:
    documented = {
        line
        for node in nodes(tree, ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        if ast.get_docstring(node, clean=False) is not None
        for line in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    }
    lines = enumerate(map(str.strip, text.splitlines()), 1)
    return sum(bool(line) and not line.startswith("#") and number not in documented for number, line in lines)
