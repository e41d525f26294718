"""`tau serve`: opens the socket and serves web pages, editors and scripts."""

import ipaddress
import os
import re
import socket
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tau.base import log
from tau.base.errors import UsageError
from tau.base.files import mode_of, typed_path
from tau.base.late import late
from tau.cli.main import run_mode
from tau.cli.parse import ParsedArgs
from tau.cli.signals import Signals
from tau.cli.subcommand_flags import parse_subcommand
from tau.config.layers import load_settings
from tau.config.paths import user_paths
from tau.modes.exit_status import DONE
from tau.modes.output_stream import OutputStream
from tau.sdk import SessionOptions

if TYPE_CHECKING:
    from tau.modes.serve.server import HttpServer

access = late("tau.modes.serve.access")
server = late("tau.modes.serve.server")

DEFAULT_PORT = 8228
NO_WORDS = "tau serve takes no prompts or @files; clients send them."
MISSING = (
    "tau serve needs the packages starlette and uvicorn; install them with: pip install 'tau-agent[serve]'."
)


def start(words: list[str]) -> int:
    """Run the subcommand. Raises TauError."""
    parsed = parse_subcommand("serve", words, common=True)
    return run_mode(parsed, "serve")


async def run(parsed: ParsedArgs, options: SessionOptions, signals: Signals) -> int:
    """Serve until a signal; returns the exit code. Raises TauError."""
    if parsed.words:
        raise UsageError(NO_WORDS)
    try:
        serve = server.run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("starlette", "uvicorn", "anyio"):
            raise
        raise UsageError(MISSING) from None
    paths = user_paths()
    log.to(paths.logs)
    settings = load_settings(paths, options.cwd, files=options.config_files, flags=options.settings).settings
    root = Path(os.path.realpath(typed_path(parsed.value("root") or str(options.cwd))))
    if not root.is_dir():
        raise UsageError(f'Folder "{root}" not found.')
    host = parsed.value("host") or "127.0.0.1"
    unix = parsed.value("unix")
    listener = _unix_listener(typed_path(unix).absolute()) if unix else _listener(host, _port(parsed))
    chosen = server.ServeOptions(
        session=options,
        root=root,
        token=access.load_token(paths.serve_token),
        hosts=(*parsed.all("allow-host"), *(() if unix or _is_any(host) else (host.strip("[]"),))),
        origins=tuple(map(_origin, parsed.all("allow-origin"))),
        dialog_timeout_s=settings.rpc.dialog_timeout,
    )
    out = OutputStream()

    def started(running: "HttpServer", pool: object) -> None:
        signals.stop = running.stop
        out.text(
            f"{_address(listener, host)}#token={chosen.token}\n" if not unix else f"Listening on {unix}\n"
        )

    try:
        await serve(chosen, listener, started)
    finally:
        listener.close()
        if unix:
            with suppress(OSError):
                typed_path(unix).unlink()
    return DONE


def _origin(text: str) -> str:
    """As browsers send it."""
    origin = text.rstrip("/").lower()
    if not re.fullmatch(r"[a-z][a-z0-9+.-]*://[^/\s]+", origin):
        raise UsageError(
            f'--allow-origin needs an address without a path, such as https://example.com, not "{text}".'
        )
    return origin


def _port(parsed: ParsedArgs) -> int:
    text = parsed.value("port") or str(DEFAULT_PORT)
    if not text.isdecimal() or int(text) > 65535:
        raise UsageError(f'--port needs a number up to 65535, not "{text}"; 0 takes any free one.')
    return int(text)


def _listener(host: str, port: int) -> socket.socket:
    name = host.strip("[]")
    family = socket.AF_INET6 if ":" in name else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((name, port))
    except OSError as error:
        listener.close()
        advice = "--host" if isinstance(error, socket.gaierror) else "--port"
        raise UsageError(
            f"Cannot listen on {host}:{port}: {error.strerror or error}; choose another {advice}."
        ) from error
    return listener


def _unix_listener(path: Path) -> socket.socket:
    """Only for this user. A socket that nobody listens on is replaced."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        if stat.S_ISSOCK(mode_of(path)) and not _answers(path):
            path.unlink()
        listener.bind(str(path))
    except OSError as error:
        listener.close()
        raise UsageError(f'Cannot listen on "{path}": {error.strerror or error}.') from error
    finally:
        os.umask(before)
    return listener


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        return probe.connect_ex(str(path)) == 0


def _is_any(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host.strip("[]")).is_unspecified
    return False


def _address(listener: socket.socket, host: str) -> str:
    shown = "127.0.0.1" if _is_any(host) else host
    shown = f"[{shown}]" if ":" in shown and not shown.startswith("[") else shown
    return f"http://{shown}:{listener.getsockname()[1]}/"
