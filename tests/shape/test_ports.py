"""Ports are never checked for their class: what users need is in the protocol."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from tests.shape.source_tree import Source, calls, classes, dotted, functions, package_sources, read_text

PORT_MODULES = {
    "tau.agent.ports",
    "tau.agent.ui",
    "tau.base.run",
    "tau.coding.ports",
    "tau.tui.terminal.port",
}
PROBES = {"isinstance", "issubclass", "hasattr", "getattr", "type"}


def test_ports_are_never_isinstance_checked() -> None:
    found = [place for source in package_sources() for place in probes(source)]
    assert not found, "what is asked for here belongs into the port's protocol"


def test_ports_and_implementations_are_known() -> None:
    """If this fails, the test above checks too little."""
    assert {"FileSystem", "Runner", "Artifacts", "UrlRouter", "Snapshots", "Models", "Jobs", "Ui"} <= set(
        ports()
    )
    assert {"LocalFileSystem", "RecordingFileSystem", "LocalRunner", "FolderArtifacts"} <= implementations()
    assert {"TemporaryArtifacts", "SchemeRouter", "SeenFiles", "SessionJobs", "ScreenUi"} <= implementations()


def test_each_form_of_class_check_is_noticed() -> None:
    asked = [
        "isinstance(x, LocalFileSystem)",
        "isinstance(x, (str, local_fs.LocalFileSystem))",
        "isinstance(x, str | Ui)",
        "issubclass(kind, Jobs)",
        "hasattr(ctx.fs, 'scan')",
        "getattr(ctx.ui, 'terminal', None)",
        "type(self._runner) is str",
        "def f(place: FileSystem):\n    return type(place)",
        "match x:\n    case LocalRunner():\n        pass",
    ]
    for text in asked:
        assert list(probes(read_text(text))), text
    assert not list(probes(read_text("isinstance(x, str), getattr(self._loop, name), type(x) is str")))


def probes(source: Source) -> Iterator[str]:
    names = {*protocols(), *implementations()}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.MatchClass) and last(node.cls) in names:
            yield f"{source.at(node)} {ast.unparse(node)}"
    given = {call: function for function in functions(source.tree) for call in calls(function)}
    for call in calls(source.tree):
        probe = dotted(call.func)
        if probe not in PROBES or not call.args or (probe == "getattr" and len(call.args) == 2):
            continue  # an attribute without a default is simply used
        by_class = probe in ("isinstance", "issubclass") and names & {
            last(part) for part in ast.walk(call.args[1])
        }
        if by_class or holds_port(call.args[0], given.get(call)):
            yield f"{source.at(call)} {ast.unparse(call)}"


def holds_port(node: ast.expr, function: ast.FunctionDef | ast.AsyncFunctionDef | None) -> bool:
    """Whether a port is checked: a parameter of its type, or an attribute by its name."""
    if isinstance(node, ast.Attribute):
        return node.attr.lstrip("_") in port_names()
    return function is not None and last(node) in port_parameters(function)


def last(node: ast.AST) -> str:
    return dotted(node).split(".")[-1]


@cache
def protocols() -> frozenset[str]:
    """Every protocol of the package: it states what is needed, so nobody needs to check."""
    return frozenset(
        cls.name for source in package_sources() for cls in classes(source.tree) if is_protocol(cls)
    )


def is_protocol(cls: ast.ClassDef) -> bool:
    return any(
        dotted(base.value if isinstance(base, ast.Subscript) else base) == "Protocol" for base in cls.bases
    )


@cache
def ports() -> "dict[str, Members]":
    return {
        cls.name: members(cls)
        for source in package_sources()
        if source.module in PORT_MODULES
        for cls in classes(source.tree)
        if is_protocol(cls)
    }


@cache
def port_names() -> frozenset[str]:
    """The names under which ports are passed around: parameters, and the properties of contexts."""
    found = set()
    for source in package_sources():
        for function in functions(source.tree):
            found |= port_parameters(function)
        if source.module in PORT_MODULES:
            for cls in classes(source.tree):
                found |= {method.name for method in functions(cls) if names_port(method.returns)}
    return frozenset(found)


def port_parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    arguments = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    return {one.arg for one in arguments if names_port(one.annotation)}


def names_port(annotation: ast.expr | None) -> bool:
    """Whether this is a port, or one that may be missing."""
    words = set() if annotation is None else set(ast.unparse(annotation).strip("'\"").split(" | "))
    return bool(words & set(ports())) and words <= {*ports(), "None"}


@cache
def implementations() -> frozenset[str]:
    """Classes that have all members of a port, their own or inherited."""
    made = {
        cls.name: cls for source in package_sources() for cls in classes(source.tree) if not is_protocol(cls)
    }
    known = {name: inherited(name, made) for name in made}
    return frozenset(name for name in known for port in ports().values() if port.are_in(known[name]))


@dataclass(frozen=True)
class Members:
    """The members of a class: methods are called, values are properties and attributes."""

    methods: frozenset[str]
    values: frozenset[str]

    def are_in(self, other: "Members") -> bool:
        return (
            bool(self.methods - {"__call__"})
            and self.methods <= other.methods
            and self.values <= other.values | other.methods
        )

    def __or__(self, other: "Members") -> "Members":
        return Members(self.methods | other.methods, self.values | other.values)


def members(cls: ast.ClassDef) -> Members:
    properties = {
        method.name
        for method in functions(cls)
        if any(last(mark) in ("property", "cached_property") for mark in method.decorator_list)
    }
    assigned = set()
    for node in ast.walk(cls):
        if isinstance(node, ast.Assign):
            assigned |= {last(target) for target in node.targets}
        elif isinstance(node, ast.AnnAssign):
            assigned.add(last(node.target))
    methods = {method.name for method in functions(cls)} - properties
    return Members(frozenset(methods), frozenset(properties | assigned))


def inherited(name: str, made: dict[str, ast.ClassDef]) -> Members:
    if name not in made:
        return Members(frozenset(), frozenset())
    found = members(made[name])
    for base in made[name].bases:
        found |= inherited(last(base), made)
    return found
