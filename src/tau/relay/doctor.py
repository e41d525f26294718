"""Checks what the relay needs: the agent and its login, channels, the clock, ports."""

import os
import shutil
import socket
import time
from email.utils import parsedate_to_datetime
from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct, json

from tau.ai.http import HttpTransport
from tau.ai.transport import Timeouts
from tau.base.errors import ProviderError
from tau.base.files import typed_path
from tau.base.run import Limits, LocalRunner, capture
from tau.relay.agents import AGENTS
from tau.relay.composition import PACKAGES, configured
from tau.relay.config import RelayHome
from tau.relay.settings import RelayConfig

VERSION_S = 20
MAX_DRIFT_S = 60
LOGINS = Path(__file__).parent / "data" / "logins.json"  # where each CLI keeps its login


class DoctorFinding(Struct, frozen=True, rename="camel"):
    what: str
    ok: bool
    detail: str


async def examine(
    config: RelayConfig, home: RelayHome, runner: LocalRunner, running: bool
) -> list[DoctorFinding]:
    channels = configured(config)
    found = [await _agent(config, runner), _login(config)]
    found.append(DoctorFinding("relay", True, "running" if running else "not running"))
    for name in channels:
        extra = next((package for package, extra in PACKAGES.items() if extra == name), "")
        missing = bool(extra) and find_spec(extra) is None
        detail = f"install it with: pip install 'tau-agent[{name}]'" if missing else "its package is there"
        found.append(DoctorFinding(f"channel {name}", not missing, detail if extra else "needs no package"))
    if "twilio" in channels and config.twilio.mode == "webhook":
        found.append(_port(config.twilio.port, running))
    servers = {"telegram": config.telegram.api_url, "twilio": config.twilio.api_url}
    return found + [await _clock(servers[name]) for name in channels if name in servers][:1]


async def _agent(config: RelayConfig, runner: LocalRunner) -> DoctorFinding:
    reply = config.inbound.reply
    cli = AGENTS[reply.agent.kind]
    argv = [*(reply.command[:1] or cli.program), "--version"]
    what = f"agent {reply.agent.kind}"
    try:
        process = await runner.start(argv, cwd=Path.home(), limits=Limits(timeout=VERSION_S))
        async with process:
            done = await capture(process, max_bytes=10_000)
    except OSError as error:
        return DoctorFinding(what, False, f"{argv[0]} cannot be started: {error.strerror}")
    first = done.output.decode("utf-8", "replace").strip().partition("\n")[0][:100]
    if done.exit.code != 0:
        return DoctorFinding(what, False, f"{argv[0]} --version failed: {first or done.exit.code}")
    return DoctorFinding(what, True, f"{shutil.which(argv[0]) or argv[0]}, {first}")


def _login(config: RelayConfig) -> DoctorFinding:
    kind = config.inbound.reply.agent.kind
    files, variables = json.decode(LOGINS.read_bytes(), type=dict[str, dict[str, list[str]]])[kind].values()
    for file in files:
        if typed_path(file).is_file():
            return DoctorFinding("login", True, file)
    for name in variables:
        if os.environ.get(name):
            return DoctorFinding("login", True, name)
    return DoctorFinding("login", False, f"none found; log in with {kind}, or set {' or '.join(variables)}")


def _port(port: int, running: bool) -> DoctorFinding:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            return DoctorFinding(f"port {port}", running, "in use" if running else str(error.strerror))
    return DoctorFinding(f"port {port}", True, "free")


async def _clock(url: str) -> DoctorFinding:
    """Signatures and ages of messages depend on the clock."""
    http = HttpTransport(timeouts=Timeouts(connect=10, first_byte=10, idle=10))
    try:
        async with http.open("HEAD", url) as response:
            theirs = parsedate_to_datetime(response.headers.get("date", "")).timestamp()
    except (ProviderError, TimeoutError, ValueError, OSError) as error:
        return DoctorFinding("clock", False, f"cannot be compared with {url}: {error}")
    finally:
        await http.close()
    drift_s = abs(time.time() - theirs)
    return DoctorFinding("clock", drift_s < MAX_DRIFT_S, f"{drift_s:.0f} s off")
