"""Entry point of a Python kernel, run by the project's interpreter without tau on its path.

Files in this folder use only the standard library and Python 3.8 syntax. Code that startup does not need is
in files that are loaded on first use.
"""

import os
import sys
from _frozen_importlib_external import SourceFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FOLDER = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib is slow to import


def load(name: str) -> "Any":
    """Load a file of this folder as a module, under a name that cannot clash with user modules."""
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
            del sys.modules[own]  # interrupted: drop the half-loaded module
            raise
    return sys.modules[own]


def flush() -> None:
    """Flush output buffered by Python and, where reachable, by C code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # user code closed or replaced it
            continue
    ctypes = sys.modules.get("ctypes")
    if ctypes is not None:  # loaded if any imported C code may print
        ctypes.CDLL(None).fflush(None)


def prepare() -> "tuple[object, int]":
    """Return the user's `__main__` and a private descriptor for our own writes to their output."""
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
    ours = sys.modules["__main__"]  # keep a reference: a collected module loses its names
    users, output = prepare()
    load("cell_loop").GuestKernel(users, output, load, flush).serve()
