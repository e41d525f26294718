"""The system clipboard: reads images and text, writes text."""

import os
import sys
from binascii import Error as NotBase64
from binascii import a2b_base64, unhexlify
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tau.base.programs import find_program
from tau.base.run import Limits, LocalRunner, Runner, capture
from tau.base.sizes import MIB
from tau.base.text import plain
from tau.tui.terminal.port import Terminal

MAX_BYTES = 20 * MIB
LIMITS = Limits(timeout=5.0, grace=0.2)
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_TEXTS = ("text/plain;charset=utf-8", "UTF8_STRING", "text/plain", "STRING")
# Errors of the program are not part of the clipboard.
_WITHOUT_STDERR = ("/bin/sh", "-c", 'exec "$0" "$@" 2>/dev/null')
_POWERSHELL = (
    "Add-Type -AssemblyName System.Windows.Forms;"
    "$i=[System.Windows.Forms.Clipboard]::GetImage();"
    "if($i){$m=New-Object System.IO.MemoryStream;"
    "$i.Save($m,[System.Drawing.Imaging.ImageFormat]::Png);"
    "'picture '+[Convert]::ToBase64String($m.ToArray())}"
    "else{'text '+[Convert]::ToBase64String("
    "[Text.Encoding]::UTF8.GetBytes([string](Get-Clipboard -Raw)))}"
)
_MAC_PNG = "the clipboard as «class PNGf»"


class Clip(NamedTuple):
    """An image, a text, or neither; `problem` says why the clipboard is unreadable."""

    picture: bytes = b""
    text: str = ""
    problem: str = ""


class Clipboard:
    """Uses the desktop's clipboard programs; over ssh, that desktop is not the user's."""

    def __init__(
        self, environ: Mapping[str, str] = os.environ, platform: str = sys.platform, run: Runner | None = None
    ) -> None:
        self._environ = environ
        self._platform = platform
        self._run = run or LocalRunner()

    @property
    def is_local(self) -> bool:
        """Whether the user appears to sit at this machine."""
        return not (self._environ.get("SSH_CONNECTION") or self._environ.get("SSH_TTY"))

    async def read(self) -> Clip:
        """An image if there is one, else text."""
        if self._platform == "darwin":
            return await self._read_mac()
        if self._environ.get("WSL_DISTRO_NAME") and (program := self._which("powershell.exe")):
            return await self._read_windows(program)
        if self._environ.get("WAYLAND_DISPLAY") and (program := self._which("wl-paste")):
            return await self._read_types((program, "--list-types"), (program, "--no-newline", "--type"))
        if self._environ.get("DISPLAY") and (program := self._which("xclip")):
            ask = (program, "-selection", "clipboard", "-o", "-t")
            return await self._read_types((*ask, "TARGETS"), ask)
        return Clip(problem=self._missing_program())

    async def write(self, text: str) -> bool:
        """Write text; False if there is no program for it."""
        argv = self._writer() if self.is_local else None
        if argv is None:
            return False
        try:
            process = await self._run.start(
                argv, cwd=Path("/"), limits=LIMITS, stdin=text.encode("utf-8", "replace")
            )
        except OSError:
            return False
        async with process:
            ended = await process.wait()
        return ended.code == 0

    def _writer(self) -> Sequence[str] | None:
        # Their background process holds the clipboard; it must not hold our pipe.
        background = ("/bin/sh", "-c", 'exec "$0" "$@" >/dev/null 2>&1')
        if self._platform == "darwin":
            return (*background, "pbcopy")
        if self._environ.get("WSL_DISTRO_NAME") and (program := self._which("clip.exe")):
            return (*background, program)
        if self._environ.get("WAYLAND_DISPLAY") and (program := self._which("wl-copy")):
            return (*background, program)
        if self._environ.get("DISPLAY") and (program := self._which("xclip")):
            return (*background, program, "-selection", "clipboard", "-i")
        return None

    async def _read_types(self, list_types: Sequence[str], ask: Sequence[str]) -> Clip:
        """Where the clipboard lists its content types and returns one of them."""
        kinds = (await self._output(*list_types)).decode("utf-8", "replace").split("\n")
        kinds = [kind.strip() for kind in kinds]
        for kind in _PICTURES:
            if kind in kinds and (data := await self._output(*ask, kind)):
                return Clip(picture=data)
        for kind in _TEXTS:
            if kind in kinds and (data := await self._output(*ask, kind)):
                return Clip(text=plain(data.decode("utf-8", "replace")))
        return Clip()

    async def _read_mac(self) -> Clip:
        if (program := self._which("pngpaste")) and (data := await self._output(program, "-")):
            return Clip(picture=data)
        output = await self._output("osascript", "-e", _MAC_PNG)
        # «data PNGf8950...»
        digits = output.decode("utf-8", "replace").strip().removeprefix("«data PNGf").removesuffix("»")
        if output and digits and len(digits) % 2 == 0:
            try:
                return Clip(picture=unhexlify(digits))
            except NotBase64:
                pass
        return Clip(text=plain((await self._output("pbpaste")).decode("utf-8", "replace")))

    async def _read_windows(self, program: str) -> Clip:
        output = await self._output(program, "-NoProfile", "-STA", "-Command", _POWERSHELL)
        kind, _, data = output.decode("ascii", "replace").strip().partition(" ")
        try:
            content = a2b_base64(data)
        except NotBase64:
            return Clip()
        if kind == "picture":
            return Clip(picture=content)
        return Clip(text=plain(content.decode("utf-8", "replace").replace("\r\n", "\n")))

    async def _output(self, *argv: str) -> bytes:
        """The output of a program; empty if it fails."""
        try:
            process = await self._run.start((*_WITHOUT_STDERR, *argv), cwd=Path("/"), limits=LIMITS)
        except OSError:
            return b""
        async with process:
            result = await capture(process, max_bytes=MAX_BYTES + 1)
        return result.output if result.exit.code == 0 and len(result.output) <= MAX_BYTES else b""

    def _which(self, program: str) -> str | None:
        return find_program(program, environ=self._environ)

    def _missing_program(self) -> str:
        if not self.is_local:
            return (
                "The clipboard is not available over ssh; paste with your terminal's key "
                "or mention a file with @."
            )
        need = "wl-clipboard" if self._environ.get("WAYLAND_DISPLAY") else "xclip"
        return f"Cannot read the clipboard: install {need}, or mention a file with @."


async def copy(text: str, terminal: Terminal, clipboard: Clipboard) -> bool:
    """Copy through the terminal, which also works over ssh, and to the system clipboard."""
    sent = terminal.copy(text)
    done = await clipboard.write(text)
    return sent or done


async def copy_text(text: str, terminal: Terminal) -> str:
    """Copy, and return what to tell the user."""
    if not text.strip():
        return "There is nothing to copy."
    if not await copy(text, terminal, Clipboard()):
        return "The text is too long for the terminal, and there is no clipboard program."
    return f"Copied {len(text):,} characters."
