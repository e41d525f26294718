"""Where a Python kernel begins: run by the project's own interpreter, with nothing of tau around it.

Files of this folder use the standard library only, and no syntax that Python 3.8 does not know. What is not
needed to be ready stands in files that are loaded when something of them is asked for.
"""

import os
import sys
from _frozen_importlib_external import SourceFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FOLDER = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib is slow to import


def load(name: str) -> "Any":
    """A file of this folder as a module, under a name that no module of the user's has."""
    own = "_tau_" + name
    if own not in sys.modules:
        path = FOLDER + "/" + name + ".py"
        module = type(sys)(own)
        module.__file__ = path
        sys.modules[own] = module
        code = SourceFileLoader(own, path).get_code(own)
        assert code is not None
        try:
            exec(code, module.__dict__)
        except BaseException:
            del sys.modules[own]  # interrupted: half of it is of no use
            raise
    return sys.modules[own]


def flush() -> None:
    """Hand over what Python, and C code where we can reach it, still holds back."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # closed or replaced by the user's code, which is theirs to do
            continue
    ctypes = sys.modules.get("ctypes")
    if ctypes is not None:  # imported by whoever brings C code along that prints
        ctypes.CDLL(None).fflush(None)


def prepare() -> "tuple[Any, int]":
    """The user's `__main__`, and a descriptor of our own for what we write among their output."""
    output = os.dup(1)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(  # type: ignore[union-attr]
            encoding="utf-8", errors="backslashreplace", line_buffering=True
        )
    if sys.path and sys.path[0] == FOLDER:
        sys.path[0] = ""
    sys.argv = [""]
    users = type(sys)("__main__")
    users.__builtins__ = __builtins__  # type: ignore[attr-defined]
    sys.modules["__main__"] = users
    return users, output


if __name__ == "__main__":
    if sys.hexversion < 0x03080000:
        sys.exit(f"A Python kernel needs Python 3.8 or newer; this is {sys.version.split()[0]}.")
    ours = sys.modules["__main__"]  # kept: a module without an owner loses its names
    users, output = prepare()
    load("cell_loop").serve(users, output, load, flush)
