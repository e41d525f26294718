"""Resources that outlive a tool call: a shell, kernels, connections to hosts."""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from tau.agent.hooks import Hooks
from tau.backends.kernels.pool import Kernels
from tau.backends.shell.session import ShellSession
from tau.base.files import mode_of
from tau.base.late import late
from tau.base.run import Runner
from tau.config.paths import PROJECT_FOLDER, Paths, project_folders
from tau.config.settings import Settings
from tau.config.web_access import find_browser, has_browser_driver

if TYPE_CHECKING:
    from tau.backends.dap.sessions import DebugSessions
    from tau.backends.lsp.pool import LanguageServers
    from tau.backends.ssh.connections import Connections
    from tau.backends.ssh.hosts import SshHost
    from tau.coding.github.access import GithubAccess
    from tau.coding.late_browser import LateBrowser
    from tau.coding.memory.port import Memory
    from tau.coding.sandbox import LateSandbox

github_access = late("tau.coding.github.access")
late_browsers = late("tau.coding.late_browser")
hindsight_memory = late("tau.coding.memory.hindsight")
project_memory = late("tau.coding.project_memory")
ssh_connections = late("tau.backends.ssh.connections")
ssh_hosts = late("tau.backends.ssh.hosts")
ssh_info = late("tau.backends.ssh.info")


class SessionResources(Struct, frozen=True, kw_only=True):
    """Resources shared by calls. Without them each call starts fresh."""

    shell: ShellSession | None = None
    kernels: Kernels | None = None
    hosts: "Mapping[str, SshHost]" = {}
    connections: "Connections | None" = None
    sandbox: "LateSandbox | None" = None
    language_servers: "LanguageServers | None" = None
    debuggers: "DebugSessions | None" = None
    memory: "Memory | None" = None
    browser: "LateBrowser | None" = None
    github: "GithubAccess | None" = None
    warnings: list[str] = []
    hooks: list[Hooks] = []
    services: AsyncExitStack | None = None  # ends what a tool keeps between its calls


async def open_resources(
    cwd: Path,
    runner: Runner,
    paths: Paths,
    settings: Settings,
    environ: Mapping[str, str],
    services: AsyncExitStack,
    outside: Runner | None = None,
    sandbox: "LateSandbox | None" = None,
) -> SessionResources:
    """Open the session's resources. Each is started on first use; connections to hosts run `outside`."""
    shell = ShellSession(runner, cwd=cwd, cache=paths.cache / "shell")
    kernels = Kernels(runner, python=settings.python.interpreter, mode=settings.python.kernel_mode)
    await services.enter_async_context(shell)
    await services.enter_async_context(kernels)
    memory: Memory | None = None
    if settings.memory.backend == "hindsight":
        server = hindsight_memory.HindsightMemory(paths, cwd, settings.hindsight, environ, outside or runner)
        memory = await services.enter_async_context(server)
    elif settings.memory.backend != "off":
        memory = project_memory.open_memory(paths, cwd, settings.memory)
    github = None
    if settings.github.enabled:
        github = github_access.GithubAccess(outside or runner, cwd, paths, settings.github)
        services.push_async_callback(github.background.close)
    known = SessionResources(shell=shell, kernels=kernels, sandbox=sandbox, memory=memory, github=github)
    known = replace(known, services=services)
    if settings.browser.enabled and find_browser(environ) is not None and has_browser_driver():
        browser = late_browsers.LateBrowser(runner, settings, sandbox, environ)
        await services.enter_async_context(browser)
        known = replace(known, browser=browser)
    projects = project_folders(cwd)
    folders = (paths.home, *(folder / PROJECT_FOLDER for folder in projects), *projects)
    if not any(mode_of(folder / name) for folder in folders for name in ("ssh.json", ".ssh.json")):
        return known
    loaded = ssh_hosts.load_hosts(paths, cwd, environ)
    if not loaded.hosts:
        return replace(known, warnings=loaded.warnings)
    mounts = paths.home / "remote" if settings.ssh.mount else None
    connections = ssh_connections.Connections(
        outside or runner, cache=ssh_info.info_folder(paths), mounts=mounts
    )
    await services.enter_async_context(connections)
    return replace(known, hosts=loaded.hosts, connections=connections, warnings=loaded.warnings)
