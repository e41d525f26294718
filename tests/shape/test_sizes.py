"""Files, functions and classes stay small enough to be read in one go."""

from tests.shape.source_tree import classes, functions, other_sources, package_sources

FILE_LINES = 600
FUNCTION_LINES = 60
CLASS_METHODS = 20


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
