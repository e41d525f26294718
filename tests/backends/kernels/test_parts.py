"""The parts of the kernels that need no process: marks in the output, and which interpreter is taken."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.backends.kernels.cells import KernelError
from tau.backends.kernels.interpreters import find_python, node_launch, python_launch
from tau.backends.kernels.marks import Marks

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
def test_marks_are_found_however_the_output_is_cut(pieces: list[int | bytes], size: int) -> None:
    def coded(piece: int | bytes) -> bytes:
        return piece if isinstance(piece, bytes) else b"\0%s%08x\0" % (SECRET.encode(), piece)

    # A whole secret in the user's own output would be taken for a mark: only the kernel knows it.
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


def test_the_nearest_environment_of_the_project_is_taken(tmp_path: Path) -> None:
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


def test_without_one_the_active_environment_then_the_path_then_our_own_is_taken(tmp_path: Path) -> None:
    active = fake_python(tmp_path / "active")
    programs = tmp_path / "programs"
    programs.mkdir()
    assert find_python(tmp_path, environ={"PATH": str(programs)}) == sys.executable
    (programs / "python3").symlink_to(sys.executable)
    path = str(programs)
    assert find_python(tmp_path, environ={"PATH": path}) == str(programs / "python3")
    assert find_python(tmp_path, environ={"PATH": path, "VIRTUAL_ENV": str(tmp_path / "active")}) == active


def test_the_interpreter_that_is_set_is_taken_or_missed(tmp_path: Path) -> None:
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


def test_without_node_a_sentence_says_so(tmp_path: Path) -> None:
    with pytest.raises(KernelError, match=r"need Node\.js 18 or newer; install it"):
        node_launch(environ={"PATH": str(tmp_path)})
