"""Command lines of ssh for a host: nobody is asked, nothing is forwarded, a changed host key is refused."""

from collections.abc import Sequence

from tau.backends.ssh.hosts import SshHost

CONNECT_S = 15
ALIVE_S = 15
ALIVE_TIMES = 4

# The user's own ssh_config counts, but these come first: it cannot ask for a terminal or an answer.
ALWAYS = (
    *("BatchMode=yes", "StrictHostKeyChecking=accept-new", f"ConnectTimeout={CONNECT_S}"),
    *(f"ServerAliveInterval={ALIVE_S}", f"ServerAliveCountMax={ALIVE_TIMES}", "LogLevel=ERROR"),
    *("ClearAllForwardings=yes", "ForwardX11=no", "PermitLocalCommand=no", "RequestTTY=no"),
    *("RemoteCommand=none", "ControlPersist=no"),
)
# A machine that a project names gets nothing with which it could act in the user's name.
FOR_PROJECT_HOSTS = ("ForwardAgent=no", "GSSAPIDelegateCredentials=no")


def master_words(host: SshHost, socket: str) -> list[str]:
    """A connection that stays, and lets others through while it lives."""
    return ["ssh", "-N", "-M", "-S", socket, *_options(host), "--", host.address]


def command_words(host: SshHost, socket: str | None, remote: str) -> list[str]:
    """One remote command, through a kept connection where there is one."""
    return [*session_words(host, socket), "--", host.address, remote]


def session_words(host: SshHost, socket: str | None) -> list[str]:
    """The same without the host: what goes before it."""
    return ["ssh", *_options(host), "-o", "ControlMaster=no", "-S", socket or "none"]


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
