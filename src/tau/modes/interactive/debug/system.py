"""Facts about this tau, its machine and its terminal, for bug reports."""

import locale
import os
import platform
import sys
from pathlib import Path

from tau.base.late import late
from tau.base.sizes import format_bytes
from tau.base.version import VERSION
from tau.modes.interactive.command_context import CommandContext

resource = late("resource")

_TERMINAL_VARIABLES = ("TERM", "COLORTERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TMUX", "STY", "SSH_TTY")


def facts(context: CommandContext) -> list[tuple[str, str]]:
    """Names and values; no keys, no conversation text."""
    terminal = context.display.terminal
    capabilities = terminal.capabilities
    session = context.session
    rows = [
        ("tau", f"{VERSION}, {Path(__file__).parents[3]}"),
        ("Python", f"{platform.python_version()} ({platform.python_implementation()}), {sys.executable}"),
        ("system", f"{platform.system()} {platform.release()} {platform.machine()}"),
        ("processors", str(os.cpu_count() or "unknown")),
        ("memory", _memory()),
        ("tau memory", _own_memory()),
        ("locale", f"{locale.getlocale()[0] or 'C'}, {sys.getfilesystemencoding()}"),
        ("shell", os.environ.get("SHELL", "unknown")),
        ("folder", str(context.cwd)),
        ("terminal", f"{terminal.columns} columns, {terminal.rows} rows"),
        ("terminal features", ", ".join(f"{name} {value}" for name, value in capabilities._asdict().items())),
        ("environment", ", ".join(f"{name}={value}" for name, value in _environment())),
        ("user folder", str(context.paths.home)),
    ]
    if session is not None:
        messages = session.log.context().messages
        rows += [
            ("model", f"{session.model.key}, {session.model.api}, thinking {session.thinking}"),
            ("session", str(session.log.path or "not saved")),
            ("messages", str(len(messages))),
            ("tools", ", ".join(tool.name for tool in session.tools)),
            ("approvals", session.permissions.mode),
        ]
    frames = context.display.screen.stats
    return [*rows, ("frames", f"{frames.frames:,} drawn, {format_bytes(frames.bytes)} written")]


def system_text(context: CommandContext) -> str:
    """The facts as lines."""
    rows = [(name, value) for name, value in facts(context) if value]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:{width}}  {value}" for name, value in rows)


def _environment() -> list[tuple[str, str]]:
    return [(name, os.environ[name]) for name in _TERMINAL_VARIABLES if name in os.environ]


def _memory() -> str:
    try:
        return format_bytes(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (ValueError, OSError):
        return "unknown"


def _own_memory() -> str:
    """Peak memory of this process."""
    if sys.platform == "win32":
        return "unknown"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return format_bytes(peak if sys.platform == "darwin" else peak * 1024)
