"""The clipboard through desktop programs, replaced by stand-ins of the same names."""

import asyncio
import base64
import os
from pathlib import Path

import pytest

from tau.modes.interactive.composer.clipboard import Clip, Clipboard, copy_text
from tests.support.terminal.virtual import VirtualTerminal

PNG = b"\x89PNG\r\n\x1a\n and the rest of it, with \x00 bytes"


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    return folder


def make(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def read(folder: Path, platform: str = "linux", **environ: str) -> Clip:
    # Programs without a path are found through our own PATH.
    os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"
    clipboard = Clipboard({"PATH": str(folder), **environ}, platform)
    return asyncio.run(clipboard.read())


def given(folder: Path, data: bytes) -> Path:
    path = folder / "content"
    path.write_bytes(data)
    return path


def test_picture_from_wayland(programs: Path) -> None:
    content = given(programs, PNG)
    make(
        programs,
        "wl-paste",
        f'case "$*" in --list-types) printf "text/html\\nimage/png\\n";; *image/png) cat {content};; esac',
    )
    assert read(programs, WAYLAND_DISPLAY="wayland-0") == Clip(picture=PNG)


def test_text_from_wayland_is_stripped_of_control_sequences(programs: Path) -> None:
    make(
        programs,
        "wl-paste",
        'case "$*" in --list-types) echo text/plain;; *) printf "gr\\303\\274n \\033[31mred";; esac',
    )
    assert read(programs, WAYLAND_DISPLAY="wayland-0") == Clip(text="grün red")


def test_picture_from_x11(programs: Path) -> None:
    content = given(programs, PNG)
    make(
        programs,
        "xclip",
        f'case "$*" in *TARGETS) printf "TARGETS\\nimage/png\\n";; *image/png) cat {content};; esac',
    )
    assert read(programs, DISPLAY=":0") == Clip(picture=PNG)


def test_empty_clipboard(programs: Path) -> None:
    make(programs, "xclip", 'echo "Error: target not available" >&2; exit 1')
    assert read(programs, DISPLAY=":0") == Clip()


def test_picture_from_a_mac_through_applescript(programs: Path) -> None:
    make(programs, "osascript", f"echo '«data PNGf{PNG.hex().upper()}»'")
    assert read(programs, "darwin") == Clip(picture=PNG)


def test_mac_uses_pngpaste_if_available(programs: Path) -> None:
    make(programs, "pngpaste", f"cat {given(programs, PNG)}")
    assert read(programs, "darwin") == Clip(picture=PNG)


def test_text_from_a_mac(programs: Path) -> None:
    make(programs, "osascript", "exit 1")
    make(programs, "pbpaste", "printf words")
    assert read(programs, "darwin") == Clip(text="words")


@pytest.mark.parametrize(
    ("kind", "data", "clip"),
    [("picture", PNG, Clip(picture=PNG)), ("text", b"one\r\ntwo", Clip(text="one\ntwo"))],
)
def test_wsl_uses_the_windows_clipboard(programs: Path, kind: str, data: bytes, clip: Clip) -> None:
    encoded = base64.b64encode(data).decode()
    make(programs, "powershell.exe", f"printf '{kind} {encoded}\\r\\n'")
    assert read(programs, WSL_DISTRO_NAME="Debian") == clip


def test_missing_program_says_what_to_install(programs: Path) -> None:
    assert "install wl-clipboard" in read(programs, WAYLAND_DISPLAY="wayland-0").problem
    assert "install xclip" in read(programs).problem
    assert "over ssh" in read(programs, SSH_CONNECTION="1.2.3.4").problem


def test_hanging_program_is_killed(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tau.base.run import Limits
    from tau.modes.interactive.composer import clipboard

    monkeypatch.setattr(clipboard, "LIMITS", Limits(timeout=0.05, grace=0.05))
    make(programs, "xclip", "exec sleep 600")
    assert read(programs, DISPLAY=":0") == Clip()


def test_text_is_copied_with_the_platform_program(programs: Path) -> None:
    make(programs, "xclip", f'echo "$*" > {programs}/asked; cat > {programs}/copied')
    clipboard = Clipboard({"PATH": str(programs), "DISPLAY": ":0"}, "linux")
    os.environ["PATH"] = f"{programs}:{os.environ['PATH']}"
    assert asyncio.run(clipboard.write("über\nall"))
    assert (programs / "copied").read_text() == "über\nall"
    assert "clipboard" in (programs / "asked").read_text()


def test_over_ssh_only_the_terminal_gets_the_text(programs: Path) -> None:
    make(programs, "xclip", f"touch {programs}/asked")
    clipboard = Clipboard({"PATH": str(programs), "DISPLAY": ":0", "SSH_TTY": "/dev/pts/1"}, "linux")
    assert not asyncio.run(clipboard.write("x"))
    assert not (programs / "asked").exists()


def test_copying_goes_through_the_terminal_and_reports_the_size() -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"):
        os.environ.pop(name, None)
    terminal = VirtualTerminal()
    assert asyncio.run(copy_text("three words here", terminal)) == "Copied 16 characters."
    assert terminal.clipboard == ["three words here"]
    assert asyncio.run(copy_text("  \n", terminal)) == "There is nothing to copy."
    assert "too long" in asyncio.run(copy_text("x" * 200_000, terminal))
    assert terminal.clipboard == ["three words here"]
