"""ssh command lines for a host: no prompts, no forwarding, changed host keys are refused."""

from collections.abc import Sequence

from tau.backends.ssh.hosts import SshHost
from tau.base.programs import find_program

CONNECT_S = 15
ALIVE_S = 15
ALIVE_TIMES = 4

# These override the user's ssh_config: no terminal, no prompts.
ALWAYS = (
    *("BatchMode=yes", "StrictHostKeyChecking=accept-new", f"ConnectTimeout={CONNECT_S}"),
    *(f"ServerAliveInterval={ALIVE_S}", f"ServerAliveCountMax={ALIVE_TIMES}", "LogLevel=ERROR"),
    *("ClearAllForwardings=yes", "ForwardX11=no", "PermitLocalCommand=no", "RequestTTY=no"),
    *("RemoteCommand=none", "ControlPersist=no"),
)
# A host named by a project must not be able to act as the user.
FOR_PROJECT_HOSTS = ("ForwardAgent=no", "GSSAPIDelegateCredentials=no")


def master_argv(host: SshHost, socket: str) -> list[str]:
    """Return the argv of a master connection that other commands share."""
    return [_program(), "-N", "-M", "-S", socket, *_options(host), "--", host.address]


def command_argv(host: SshHost, socket: str | None, remote: str) -> list[str]:
    """Return the argv of one remote command, through a shared connection if there is one."""
    return [*session_argv(host, socket), "--", host.address, remote]


def session_argv(host: SshHost, socket: str | None) -> list[str]:
    """Return the same argv up to the host."""
    return [_program(), *_options(host), "-o", "ControlMaster=no", "-S", socket or "none"]


def _program() -> str:
    return find_program("ssh") or "ssh"


def _options(host: SshHost) -> Sequence[str]:
    options = list(ALWAYS)
    if not host.own:
        options += FOR_PROJECT_HOSTS
    if host.key is not None:
        options.append("IdentitiesOnly=yes")
    words = ["-T", *(word for option in options for word in ("-o", option))]
    if host.key is not None:
        words += ["-i", str(host.key).replace("%", "%%")]
    if host.user is not None:
        words += ["-l", host.user]
    if host.port is not None:
        words += ["-p", str(host.port)]
    return words
