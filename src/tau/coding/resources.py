"""Resources that outlive a tool call: a shell, kernels, connections to hosts."""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from tau.backends.kernels.pool import Kernels
from tau.backends.shell.session import ShellSession
from tau.base.files import mode_of
from tau.base.late import late
from tau.base.run import Runner
from tau.config.paths import PROJECT_FOLDER, Paths, project_folders
from tau.config.settings import Settings

if TYPE_CHECKING:
    from tau.backends.ssh.connections import Connections
    from tau.backends.ssh.hosts import SshHost

ssh_connections = late("tau.backends.ssh.connections")
ssh_hosts = late("tau.backends.ssh.hosts")
ssh_info = late("tau.backends.ssh.info")


class SessionResources(Struct, frozen=True, kw_only=True):
    """Resources shared by calls. Without them each call starts fresh."""

    shell: ShellSession | None = None
    kernels: Kernels | None = None
    hosts: "Mapping[str, SshHost]" = {}
    connections: "Connections | None" = None
    warnings: list[str] = []


async def open_resources(
    cwd: Path,
    runner: Runner,
    paths: Paths,
    settings: Settings,
    environ: Mapping[str, str],
    services: AsyncExitStack,
) -> SessionResources:
    """Open the session's resources. Each is started on first use."""
    shell = ShellSession(runner, cwd=cwd, cache=paths.cache / "shell")
    kernels = Kernels(runner, python=settings.python.interpreter, mode=settings.python.kernel_mode)
    await services.enter_async_context(shell)
    await services.enter_async_context(kernels)
    folders = (
        paths.home,
        *(folder / PROJECT_FOLDER for folder in project_folders(cwd)),
        *project_folders(cwd),
    )
    if not any(mode_of(folder / name) for folder in folders for name in ("ssh.json", ".ssh.json")):
        return SessionResources(shell=shell, kernels=kernels)
    found = ssh_hosts.load_hosts(paths, cwd, environ)
    if not found.hosts:
        return SessionResources(shell=shell, kernels=kernels, warnings=found.warnings)
    mounts = paths.home / "remote" if settings.ssh.mount else None
    connections = ssh_connections.Connections(runner, cache=ssh_info.info_folder(paths), mounts=mounts)
    await services.enter_async_context(connections)
    return SessionResources(
        shell=shell, kernels=kernels, hosts=found.hosts, connections=connections, warnings=found.warnings
    )


def _names_hosts(cwd: Path, paths: Paths) -> bool:
    """Whether any hosts file exists; few users have one."""
    folders = [paths.home]
    for folder in project_folders(cwd):
        folders += [folder, folder / PROJECT_FOLDER]
    return any(mode_of(folder / name) for folder in folders for name in ("ssh.json", ".ssh.json"))
