"""The terminal of this process: its size, its output and, given a loop, its input."""

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tau.base.late import late
from tau.tui.terminal import sequences
from tau.tui.terminal.capabilities import Switches, detect, detect_multiplexer, read_switches
from tau.tui.terminal.output import TerminalLoop, TerminalOutput
from tau.tui.terminal.port import Capabilities, Watcher

if TYPE_CHECKING:
    from tau.tui.terminal.active_terminal import ActiveTerminal

clipboard = late("tau.tui.terminal.clipboard")
active_terminal = late("tau.tui.terminal.active_terminal")
notify = late("tau.tui.terminal.notify")
signal = late("signal")


class ProcessTerminal:
    """Implements `Terminal` on two descriptors. Without a loop it only has a size and writes at once.

    `start` and `stop` may be repeated; each start probes again, since the terminal may be a different one.
    """

    def __init__(
        self,
        stdin_fd: int = 0,
        stdout_fd: int = 1,
        *,
        loop: TerminalLoop | None = None,
        env: Mapping[str, str] | None = None,
        platform: str = sys.platform,
    ) -> None:
        self._stdin_fd = stdin_fd
        self._stdout_fd = stdout_fd
        self._loop = loop
        self._env: Mapping[str, str] = os.environ if env is None else env
        self._platform = platform
        self.switches: Switches = read_switches(self._env)
        """User switches from the environment: hardware cursor, notifications, frame logging."""
        self._capabilities = detect(self._env, platform)
        self._size = self._measure()
        self._output = TerminalOutput(stdout_fd, None, self._on_exit)
        self._active: ActiveTerminal | None = None

    @property
    def columns(self) -> int:
        return self._size[0]

    @property
    def rows(self) -> int:
        return self._size[1]

    @property
    def capabilities(self) -> Capabilities:
        return self._active.probes.capabilities if self._active is not None else self._capabilities

    def start(self, watcher: Watcher) -> None:
        if self._active is not None:
            return
        self._size = self._measure()
        if self._loop is not None:
            self._output = TerminalOutput(self._stdout_fd, self._loop, self._on_exit)
            self._active = active_terminal.ActiveTerminal(
                self._stdin_fd, self._output, self._loop, watcher, self._env, self._platform, self._on_resize
            )
            self._active.begin()

    def stop(self) -> None:
        if self._active is None:
            return
        ending, self._active = self._active, None
        self._capabilities = ending.probes.capabilities
        ending.end()
        self._output.close()
        self._output = TerminalOutput(self._stdout_fd, None, self._on_exit)

    def suspend(self) -> None:
        watcher = self._active.watcher if self._active is not None else None
        self.stop()
        os.kill(0, signal.SIGTSTP)
        if watcher is not None:
            self.start(watcher)
            watcher.on_resize()

    def write(self, text: str) -> None:
        self._output.write(text.encode("utf-8", "replace"))

    def set_title(self, text: str) -> None:
        if self._active is None or self._env.get("TERM", "dumb") in ("dumb", "linux"):
            return
        if not self._active.title_off:
            self.write(sequences.TITLE_SAVE)
            self._active.title_off = sequences.TITLE_RESTORE
        self.write(sequences.title(text))

    def use_alternate(self, on: bool) -> None:
        if self._active is not None:
            self._active.use_alternate(on)

    def notify(self, title: str, body: str = "") -> None:
        if self._active is not None:
            self.write(notify.notification(title, body, self._active.probes.notify))

    def copy(self, text: str) -> bool:
        sequence = clipboard.copy_sequence(text, screen=detect_multiplexer(self._env) == "screen")
        if sequence is None:
            return False
        self.write(sequence)
        return True

    def _measure(self) -> tuple[int, int]:
        for fd in (self._stdout_fd, self._stdin_fd):
            try:
                columns, rows = os.get_terminal_size(fd)
            except OSError:
                continue
            if columns > 0 and rows > 0:
                return columns, rows
        return _number(self._env.get("COLUMNS"), 80), _number(self._env.get("LINES"), 24)

    def _on_resize(self, size: tuple[int, int] | None = None) -> None:
        """Update the size, measuring it unless the terminal reported it."""
        size = size or self._measure()
        if size != self._size:
            self._size = size
            if self._active is not None:
                self._active.watcher.on_resize()

    def _on_exit(self) -> None:
        if self._active is not None:
            self._active.on_lost()


def _number(text: str | None, default: int) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and 0 < int(text) < 10_000 else default
