"""The parts of the kernels that need no process: output marks, and the choice of interpreter."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.backends.kernels.cells import KernelError
from tau.backends.kernels.channel import Marks
from tau.backends.kernels.interpreters import find_python, node_launch, python_launch

SECRET = "0123456789abcdef"
PIECES = st.lists(
    st.one_of(
        st.integers(0, 0xFFFFFFFF),
        st.binary(max_size=30),
        st.sampled_from([b"\0", b"\0" + SECRET.encode(), b"\0" + SECRET[:5].encode(), b"\0\0"]),
    ),
    max_size=12,
)


@given(PIECES, st.integers(1, 40))
def test_marks_are_found_in_any_chunking(pieces: list[int | bytes], size: int) -> None:
    def coded(piece: int | bytes) -> bytes:
        return piece if isinstance(piece, bytes) else b"\0%s%08x\0" % (SECRET.encode(), piece)

    # A whole secret in the user's own output would be mistaken for a mark: only the kernel knows it.
    wanted = [piece for piece in pieces if not (isinstance(piece, bytes) and SECRET.encode() in piece)]
    data = b"".join(map(coded, [*wanted, b"end of it, longer than any mark could be"]))
    marks = Marks(SECRET)
    found = [one for start in range(0, len(data), size) for one in marks.split(data[start : start + size])]
    assert [one for one in found if isinstance(one, int)] == [one for one in wanted if isinstance(one, int)]
    text = b"".join(one for one in found if isinstance(one, bytes))
    assert text == b"".join(one for one in wanted if isinstance(one, bytes)) + (
        b"end of it, longer than any mark could be"
    )


def fake_python(folder: Path) -> str:
    program = folder / "bin" / "python"
    program.parent.mkdir(parents=True)
    program.symlink_to(sys.executable)
    (folder / "pyvenv.cfg").touch()
    return str(program)


def test_nearest_environment_of_the_project_is_used(tmp_path: Path) -> None:
    outer = fake_python(tmp_path / "project" / "venv")
    inner = tmp_path / "project" / "part" / "deep"
    inner.mkdir(parents=True)
    fake_python(tmp_path / ".venv")
    environ = {"PATH": os.defpath}
    assert find_python(inner, environ=environ) not in (outer, str(tmp_path / ".venv/bin/python"))
    (tmp_path / "project" / ".git").mkdir()
    assert find_python(inner, environ=environ) == outer
    nearer = fake_python(tmp_path / "project" / "part" / ".venv")
    assert find_python(inner, environ=environ) == nearer


def test_fallbacks_are_the_active_environment_then_path_then_our_own(tmp_path: Path) -> None:
    active = fake_python(tmp_path / "active")
    programs = tmp_path / "programs"
    programs.mkdir()
    assert find_python(tmp_path, environ={"PATH": str(programs)}) == sys.executable
    (programs / "python3").symlink_to(sys.executable)
    path = str(programs)
    assert find_python(tmp_path, environ={"PATH": path}) == str(programs / "python3")
    assert find_python(tmp_path, environ={"PATH": path, "VIRTUAL_ENV": str(tmp_path / "active")}) == active


def test_configured_interpreter_is_used_or_reported_missing(tmp_path: Path) -> None:
    chosen = fake_python(tmp_path / "chosen")
    fake_python(tmp_path / ".venv")
    assert find_python(tmp_path, "chosen/bin/python", {"PATH": ""}) == chosen
    assert find_python(tmp_path, chosen, {"PATH": ""}) == chosen
    with pytest.raises(KernelError, match=r'python\.interpreter is "nothing/here"'):
        find_python(tmp_path, "nothing/here", {"PATH": ""})


def test_programs_of_the_environment_come_first(tmp_path: Path) -> None:
    program = fake_python(tmp_path / ".venv")
    launch = python_launch(tmp_path, environ={"PATH": "/usr/bin"})
    assert launch.argv[0] == program
    assert launch.env["VIRTUAL_ENV"] == str(tmp_path / ".venv")
    assert launch.env["PATH"] == f"{tmp_path / '.venv' / 'bin'}{os.pathsep}/usr/bin"


def test_missing_node_is_reported(tmp_path: Path) -> None:
    with pytest.raises(KernelError, match=r"need Node\.js 18 or newer; install it"):
        node_launch(environ={"PATH": str(tmp_path)})


def test_variable_overrides_the_configured_interpreter(tmp_path: Path) -> None:
    chosen = fake_python(tmp_path / "chosen")
    environ = {"PATH": "", "TAU_PYTHON": chosen}
    assert find_python(tmp_path, "other/bin/python", environ) == chosen
    with pytest.raises(KernelError, match='TAU_PYTHON is "nothing", which is not a program'):
        find_python(tmp_path, chosen, {"PATH": "", "TAU_PYTHON": "nothing"})
